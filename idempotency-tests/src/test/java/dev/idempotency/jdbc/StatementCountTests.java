/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import javax.sql.DataSource;

import net.ttddyy.dsproxy.support.ProxyDataSourceBuilder;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.StalePolicy;
import dev.idempotency.template.ClaimAhead;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.Observers;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.template.TransactionBoundary;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the number of statements that idempotency adds to a handler.
 */
class StatementCountTests {

	private static final AtomicInteger STATEMENTS = new AtomicInteger();

	private static volatile String last = "";

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private static IdempotencyTemplate template;

	private static TransactionTemplate transactions;

	private static JdbcTemplate jdbc;

	private final IdempotencyKey key = TestDatabase.newKey();

	@BeforeAll
	static void createDatabase() {
		database.jdbc().execute("CREATE TABLE effect (value text)");
		DataSource counted = ProxyDataSourceBuilder.create(database.pool()).afterQuery((execution, queries) -> {
			STATEMENTS.addAndGet(queries.size());
			queries.forEach((query) -> last = query.getQuery());
		}).build();
		JdbcTransactionManager manager = new JdbcTransactionManager(counted);
		template = new IdempotencyTemplate(new JdbcIdempotencyStore(counted, TestDatabase.TABLE, TestDatabase.TIMEOUT),
				new Settings(manager, false, Observers.none()));
		transactions = new TransactionTemplate(manager);
		jdbc = new JdbcTemplate(counted);
	}

	@Test
	void newRecordCostsOneStatementInTransactionalMode() {
		int unprotected = count(() -> transactions.executeWithoutResult((status) -> effect()));
		assertThat(count(() -> run(Mode.TRANSACTIONAL, ResultCodec.none()))).isEqualTo(unprotected + 1);
	}

	@Test
	void resultCostsAnotherStatementInTransactionalMode() {
		int unprotected = count(() -> transactions.executeWithoutResult((status) -> effect()));
		assertThat(count(() -> run(Mode.TRANSACTIONAL, new TextCodec()))).isEqualTo(unprotected + 2);
	}

	@Test
	void duplicateCostsTwoStatementsInTransactionalMode() {
		run(Mode.TRANSACTIONAL, new TextCodec());
		assertThat(count(() -> run(Mode.TRANSACTIONAL, new TextCodec()))).isEqualTo(2);
	}

	@Test
	void versionOfAKnownKeyCostsOneStatementInTransactionalMode() {
		int unprotected = count(() -> transactions.executeWithoutResult((status) -> effect()));
		run(Mode.TRANSACTIONAL, 1);
		assertThat(count(() -> run(Mode.TRANSACTIONAL, 3))).isEqualTo(unprotected + 1);
		assertThat(count(() -> run(Mode.TRANSACTIONAL, 3))).isOne();
		assertThat(count(() -> run(Mode.TRANSACTIONAL, 2))).isOne();
	}

	@Test
	void versionOfAKnownKeyCostsTwoStatementsInLeasedMode() {
		int unprotected = count(this::effect);
		run(Mode.LEASED, 1);
		assertThat(count(() -> run(Mode.LEASED, 3))).isEqualTo(unprotected + 2);
		assertThat(count(() -> run(Mode.LEASED, 3))).isOne();
		assertThat(count(() -> run(Mode.LEASED, 2))).isOne();
	}

	private void run(Mode mode, long version) {
		template.execute(TestDatabase.operation(this.key, mode, version, StalePolicy.SKIP), ResultCodec.none(),
				this::effect);
	}

	@Test
	void newRecordCostsTwoStatementsInLeasedMode() {
		int unprotected = count(this::effect);
		assertThat(count(() -> run(Mode.LEASED, new TextCodec()))).isEqualTo(unprotected + 2);
	}

	@Test
	void newRecordsCostOneStatementEachAndOneForTheFirstWhenTheyAreClaimedAhead() {
		List<IdempotentOperation> operations = Stream
			.generate(() -> TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED))
			.limit(10)
			.toList();
		Iterator<IdempotentOperation> behind = operations.listIterator(1);
		ClaimAhead ahead = template.claimAhead(() -> behind.hasNext() ? behind.next() : null);
		int unprotected = count(this::effect);
		assertThat(count(() -> operations.forEach((operation) -> {
			ahead.begin();
			template.execute(operation, new TextCodec(), TransactionBoundary.DEFAULT, ahead, this::effect);
			ahead.end();
		}))).isEqualTo(10 * unprotected + 11);
	}

	@Test
	void duplicateCostsOneStatementInLeasedMode() {
		run(Mode.LEASED, new TextCodec());
		assertThat(count(() -> run(Mode.LEASED, new TextCodec()))).isOne();
	}

	@Test
	void replayedRecordsAreReadAndTheirEndCostsOneStatement() {
		run(Mode.LEASED, new TextCodec());
		int unprotected = count(this::effect);
		int duplicates = 20;
		assertThat(count(() -> IntStream.range(0, duplicates).forEach((i) -> run(Mode.LEASED, new TextCodec()))))
			.isEqualTo(duplicates);
		assertThat(last).startsWith("SELECT").doesNotContain("INSERT");
		assertThat(count(this::runOther)).isEqualTo(unprotected + 3);
		assertThat(count(this::runOther)).isEqualTo(unprotected + 2);
	}

	private void runOther() {
		template.execute(TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED), new TextCodec(), this::effect);
	}

	private void run(Mode mode, ResultCodec<String> codec) {
		template.execute(TestDatabase.operation(this.key, mode), codec, this::effect);
	}

	private String effect() {
		jdbc.update("INSERT INTO effect VALUES ('x')");
		return "done";
	}

	private static int count(Runnable action) {
		int before = STATEMENTS.get();
		action.run();
		return STATEMENTS.get() - before;
	}

}
