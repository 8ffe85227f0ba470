/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.contract.Endings;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.IdempotentResult;
import dev.idempotency.template.Observers;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link JdbcIdempotencyStore} on H2, through {@link IdempotencyTemplate}.
 */
@ParameterizedClass
@ValueSource(strings = { "", ";MODE=PostgreSQL", ";MODE=PostgreSQL;DATABASE_TO_LOWER=TRUE" })
class H2StoreTests {

	@Parameter
	private String settings;

	private TestDatabase database;

	private TransactionTemplate transactions;

	private JdbcTemplate jdbc;

	private IdempotencyTemplate template;

	private final IdempotencyKey key = TestDatabase.newKey();

	@BeforeEach
	void createDatabase() {
		this.database = TestDatabase.h2("mem:" + Servers.unique("h2") + ";DB_CLOSE_DELAY=-1" + this.settings);
		this.database.jdbc().execute("CREATE TABLE effect (note CHARACTER VARYING)");
		this.jdbc = new JdbcTemplate(this.database.pool());
		JdbcTransactionManager manager = new JdbcTransactionManager(this.database.pool());
		this.transactions = new TransactionTemplate(manager);
		this.template = new IdempotencyTemplate(this.database.store(), new Settings(manager, false, Observers.none()));
	}

	@AfterEach
	void closeDatabase() {
		// H2 drops the database with its last connection.
		this.database.jdbc().execute("SET DB_CLOSE_DELAY 0");
		this.database.close();
	}

	private IdempotentResult<String> run(Mode mode) {
		return this.template.execute(TestDatabase.operation(this.key, mode), new TextCodec(), this::effect);
	}

	private void runFailing(Mode mode) {
		this.template.execute(TestDatabase.operation(this.key, mode), new TextCodec(), () -> {
			effect();
			throw new IllegalStateException("handler");
		});
	}

	private String effect() {
		this.jdbc.update("INSERT INTO effect VALUES ('x')");
		return "done";
	}

	private long effects() {
		return this.database.jdbc().queryForObject("SELECT count(*) FROM effect", Long.class);
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-3")
	@Tag("promise-8")
	void duplicateReplaysTheFirstResult(Mode mode) {
		assertThat(run(mode)).isEqualTo(new IdempotentResult<>("done", false));
		assertThat(run(mode)).isEqualTo(new IdempotentResult<>("done", true));
		assertThat(effects()).isOne();
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	void failedOperationIsRetriedAsTheSecondAttempt(Mode mode) {
		assertThatIllegalStateException().isThrownBy(() -> runFailing(mode));
		assertThat(this.database.record(this.key).failure())
			.isEqualTo(new Failure("java.lang.IllegalStateException", "handler"));
		run(mode);
		assertThat(this.database.record(this.key)).extracting(IdempotencyRecord::state, IdempotencyRecord::attempt)
			.containsExactly(State.COMPLETED, 2);
	}

	@Test
	@Tag("promise-5")
	void rollbackLeavesNoEffect() {
		assertThatIllegalStateException().isThrownBy(() -> runFailing(Mode.TRANSACTIONAL));
		assertThat(effects()).isZero();
	}

	@Test
	@Tag("promise-5")
	void rollbackOfTheCallerRemovesEffectAndRecord() {
		this.transactions.executeWithoutResult((status) -> {
			run(Mode.TRANSACTIONAL);
			assertThat(one(this.database.store()).find(this.key)).isEmpty();
			status.setRollbackOnly();
		});
		assertThat(effects()).isZero();
		assertThat(one(this.database.store()).find(this.key)).isEmpty();
	}

	@Test
	@Tag("promise-13")
	void duplicateLeavesTheTransactionOfTheCallerUsable() {
		run(Mode.TRANSACTIONAL);
		this.transactions.executeWithoutResult((status) -> {
			effect();
			assertThat(run(Mode.TRANSACTIONAL).duplicate()).isTrue();
		});
		assertThat(effects()).isEqualTo(2);
	}

	@Test
	@Tag("promise-2")
	void waitForAConcurrentTransactionIsLimitedAndTheLimitIsRestored() {
		this.transactions.executeWithoutResult((status) -> {
			run(Mode.TRANSACTIONAL);
			CompletableFuture.runAsync(() -> this.transactions.executeWithoutResult((other) -> {
				this.jdbc.execute("SET LOCK_TIMEOUT 7000");
				assertThatExceptionOfType(OperationInProgressException.class).isThrownBy(() -> run(Mode.TRANSACTIONAL));
				assertThat(this.jdbc.queryForObject("SELECT LOCK_TIMEOUT()", Long.class)).isEqualTo(7000);
				effect();
			})).orTimeout(5, TimeUnit.SECONDS).join();
		});
		assertThat(effects()).isEqualTo(2);
	}

	@Test
	void batchReturnsTheOutcomeOfEachKey() {
		ClaimRequest first = TestDatabase.request(this.key, "a");
		ClaimRequest second = TestDatabase.request(TestDatabase.newKey());
		List<ClaimRequest> both = List.of(first, second);
		Failure failure = new Failure("x", null);
		assertThat(this.database.store().settleAfterTransaction(Endings.failed(both, failure), List.of()))
			.containsOnly(Settlement.SETTLED);
		assertThat(this.database.store().claim(both)).containsOnly(new Claim.Acquired(2, 2));
		assertThat(this.database.store().renew(both)).containsOnly(Settlement.SETTLED);
		assertThat(this.database.store().settle(Endings.released(List.of(second, TestDatabase.request(this.key)))))
			.containsExactly(Settlement.SETTLED, Settlement.LOST);
		assertThat(this.database.store()
			.settle(List.of(new Ending.Completed(second, null), new Ending.Completed(first, null))))
			.containsExactly(Settlement.LOST, Settlement.SETTLED);
		this.transactions.executeWithoutResult((status) -> {
			assertThat(this.database.store()
				.claimInTransaction(List.of(TestDatabase.request(this.key, "a"), second), true))
				.containsExactly(new Claim.Completed(null), new Claim.Acquired(3, 2));
			this.database.store().storeResults(List.of(new Ending.Completed(second, new byte[] { 2 })));
		});
		assertThat(this.database.store().settle(Endings.failed(both, failure))).containsOnly(Settlement.LOST);
	}

	// A record that waits too long for the winner is redelivered.
	private boolean deliver() {
		return await().pollInSameThread()
			.pollDelay(Duration.ZERO)
			.ignoreException(OperationInProgressException.class)
			.until(() -> run(Mode.TRANSACTIONAL).duplicate(), (duplicate) -> true);
	}

	@Test
	@Tag("promise-2")
	@Tag("promise-5")
	void concurrentDuplicatesHaveOneEffect() throws Exception {
		ExecutorService executor = Executors.newFixedThreadPool(16);
		Callable<Boolean> delivery = this::deliver;
		List<Boolean> duplicates = new ArrayList<>();
		for (Future<Boolean> done : executor.invokeAll(Collections.nCopies(16, delivery))) {
			duplicates.add(done.get());
		}
		executor.shutdown();
		assertThat(duplicates).containsOnlyOnce(false).hasSize(16);
		assertThat(effects()).isOne();
	}

}
