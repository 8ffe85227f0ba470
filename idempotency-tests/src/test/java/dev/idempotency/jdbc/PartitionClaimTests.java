/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;

import javax.sql.DataSource;

import net.ttddyy.dsproxy.support.ProxyDataSourceBuilder;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.contract.Endings;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for the statements and the side effects of claims in a partitioned table.
 */
class PartitionClaimTests {

	private static final Failure FAILURE = new Failure("x", null);

	private static final AtomicInteger STATEMENTS = new AtomicInteger();

	@RegisterExtension
	static TestDatabase database = TestDatabase.partitioned();

	private static JdbcIdempotencyStore store;

	private static TransactionTemplate transactions;

	private final ClaimRequest request = TestDatabase.request(TestDatabase.newKey());

	private final List<ClaimRequest> requests = Stream.generate(() -> TestDatabase.request(TestDatabase.newKey()))
		.limit(100)
		.toList();

	@BeforeAll
	static void createStore() {
		database.nextPartition();
		DataSource counted = ProxyDataSourceBuilder.create(database.pool())
			.afterQuery((execution, queries) -> STATEMENTS.addAndGet(queries.size()))
			.build();
		store = store(counted);
		transactions = new TransactionTemplate(new JdbcTransactionManager(counted));
	}

	private static JdbcIdempotencyStore store(DataSource dataSource) {
		return new JdbcIdempotencyStore(dataSource, TestDatabase.TABLE, TestDatabase.TIMEOUT, Layout.PARTITIONED,
				TestDatabase.PARTITION_INTERVAL, null);
	}

	@Test
	void callCostsOneStatement() {
		assertThat(count(() -> one(store).claim(this.request))).isOne();
		assertThat(count(() -> one(store).complete(this.request, null))).isOne();
		assertThat(count(() -> assertThat(one(store).claim(this.request)).isInstanceOf(Claim.Completed.class))).isOne();
		assertThat(count(() -> store.settleAfterTransaction(
				Endings.failed(List.of(TestDatabase.request(TestDatabase.newKey())), FAILURE), List.of())))
			.isOne();
		transactions.executeWithoutResult((status) -> {
			assertThat(count(() -> one(store).insert(TestDatabase.request(TestDatabase.newKey())))).isOne();
			assertThat(count(
					() -> store.claimInTransaction(List.of(TestDatabase.request(TestDatabase.newKey())), false).get(0)))
				.isOne();
		});
	}

	@Test
	void batchCostsOneStatement() {
		assertThat(count(() -> assertThat(store.claim(this.requests)).containsOnly(new Claim.Acquired(1, 1)))).isOne();
		assertThat(count(() -> store.renew(this.requests))).isOne();
		assertThat(count(() -> assertThat(store.settle(Endings.completed(this.requests, null)))
			.containsOnly(Settlement.SETTLED))).isOne();
		assertThat(count(() -> store.settleAfterTransaction(Endings.failed(this.requests, FAILURE), List.of())))
			.isOne();
	}

	private static int count(Runnable action) {
		int before = STATEMENTS.get();
		action.run();
		return STATEMENTS.get() - before;
	}

	@Test
	@Tag("promise-2")
	void claimWaitsHalfTheTimeoutForAConcurrentTransactionOfTheSamePartitionAndOfTheNext() {
		transactions.executeWithoutResult((status) -> {
			one(store).insert(this.request);
			assertWaitsInVain();
			database.openPartition();
			assertWaitsInVain();
		});
		transactions.executeWithoutResult((status) -> assertThat(one(store).insert(this.request)).isEmpty());
	}

	private void assertWaitsInVain() {
		long start = System.nanoTime();
		CompletableFuture
			.runAsync(() -> assertThatExceptionOfType(OperationInProgressException.class)
				.isThrownBy(() -> one(store).claim(TestDatabase.request(this.request.key())))
				.withMessageContaining("55P03"))
			.orTimeout(5, TimeUnit.SECONDS)
			.join();
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isBetween(TestDatabase.TIMEOUT.dividedBy(2),
				TestDatabase.TIMEOUT.multipliedBy(4));
	}

	@Test
	@Tag("promise-13")
	void lockTimeoutOfTheSessionIsRestoredAfterACall() throws SQLException {
		inSession((session) -> {
			JdbcIdempotencyStore own = store(session);
			one(own).claim(this.request);
			one(own).claim(TestDatabase.request(this.request.key()));
			own.claim(this.requests);
			own.settleAfterTransaction(Endings.failed(List.of(TestDatabase.request(TestDatabase.newKey())), FAILURE),
					List.of());
			assertThat(lockTimeout(session)).isEqualTo("7s");
			new TransactionTemplate(new JdbcTransactionManager(session)).executeWithoutResult((status) -> {
				one(own).insert(TestDatabase.request(TestDatabase.newKey()));
				one(own).insert(this.request);
				own.claimInTransaction(List.of(this.request), true).get(0);
				own.claimInTransaction(this.requests, false);
				assertThat(lockTimeout(session)).isEqualTo("7s");
			});
		});
	}

	private static String lockTimeout(DataSource session) {
		return new JdbcTemplate(session).queryForObject("SHOW lock_timeout", String.class);
	}

	private static void inSession(Consumer<DataSource> action) throws SQLException {
		try (Connection connection = database.pool().getConnection()) {
			SingleConnectionDataSource session = new SingleConnectionDataSource(connection, true);
			new JdbcTemplate(session).execute("SET lock_timeout = '7s'");
			try {
				action.accept(session);
			}
			finally {
				new JdbcTemplate(session).execute("RESET lock_timeout");
			}
		}
	}

	@Test
	@Tag("promise-12")
	void otherIsolationIsRefusedWithAnExplanation() {
		TransactionTemplate repeatable = new TransactionTemplate(transactions.getTransactionManager());
		repeatable.setIsolationLevel(TransactionDefinition.ISOLATION_REPEATABLE_READ);
		assertThatExceptionOfType(IdempotencyStoreRefusedException.class)
			.isThrownBy(() -> repeatable.executeWithoutResult((status) -> one(store).insert(this.request)))
			.withMessageContaining("the partitioned layout needs READ COMMITTED")
			.withMessageContaining("Set the isolation of the transaction");
	}

}
