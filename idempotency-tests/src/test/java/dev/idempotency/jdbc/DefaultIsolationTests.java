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
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link JdbcIdempotencyStore} in leased mode when the default isolation of the
 * pool is not READ COMMITTED.
 */
@Tag("promise-14")
class DefaultIsolationTests {

	private static final int THREADS = 8;

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private HikariDataSource pool;

	@AfterEach
	void close() {
		this.pool.close();
	}

	private JdbcIdempotencyStore store(TestDatabase target, Layout layout, String isolation, boolean autoCommit) {
		HikariConfig config = new HikariConfig();
		target.pool().copyStateTo(config);
		config.setMaximumPoolSize(THREADS);
		config.setTransactionIsolation(isolation);
		config.setAutoCommit(autoCommit);
		this.pool = new HikariDataSource(config);
		return new JdbcIdempotencyStore(this.pool, TestDatabase.TABLE, TestDatabase.TIMEOUT, layout,
				TestDatabase.PARTITION_INTERVAL, null);
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void claimsOfDifferentKeysDoNotAbortEachOther(boolean autoCommit) throws Exception {
		JdbcIdempotencyStore store = store(database, Layout.SINGLE, "TRANSACTION_SERIALIZABLE", autoCommit);
		ExecutorService threads = Executors.newFixedThreadPool(THREADS);
		List<Future<?>> all = IntStream.range(0, THREADS).<Future<?>>mapToObj((i) -> threads.submit(() -> {
			for (int j = 0; j < 100; j++) {
				ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
				assertThat(one(store).claim(request)).isEqualTo(new Claim.Acquired(1, 1));
				assertThat(one(store).complete(request, null)).isEqualTo(Settlement.SETTLED);
			}
		})).toList();
		for (Future<?> one : all) {
			one.get();
		}
		threads.shutdown();
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void isolationAndAutoCommitOfTheConnectionAreRestored(boolean autoCommit) throws SQLException {
		JdbcIdempotencyStore store = store(database, Layout.SINGLE, "TRANSACTION_REPEATABLE_READ", autoCommit);
		this.pool.setMaximumPoolSize(1);
		one(store).claim(TestDatabase.request(TestDatabase.newKey()));
		try (Connection connection = this.pool.getConnection()) {
			Connection session = connection.unwrap(Connection.class);
			assertThat(session.getAutoCommit()).isEqualTo(autoCommit);
			assertThat(session.getTransactionIsolation()).isEqualTo(Connection.TRANSACTION_REPEATABLE_READ);
		}
	}

	@Test
	void connectionWithAnOpenTransactionIsUsable() {
		HikariConfig config = new HikariConfig();
		database.pool().copyStateTo(config);
		config.setMaximumPoolSize(1);
		config.addDataSourceProperty("options", "-c default_transaction_isolation=serializable");
		config.setAutoCommit(false);
		config.setConnectionInitSql("SELECT 1");
		config.setConnectionTestQuery("SELECT 1");
		this.pool = new HikariDataSource(config);
		JdbcIdempotencyStore store = new JdbcIdempotencyStore(this.pool, TestDatabase.TABLE, TestDatabase.TIMEOUT);
		for (int i = 0; i < 3; i++) {
			await().pollDelay(Duration.ofMillis(600)).until(() -> true);
			assertThat(one(store).claim(TestDatabase.request(TestDatabase.newKey())))
				.isEqualTo(new Claim.Acquired(1, 1));
		}
	}

	@Test
	void partitionedLayoutWorksInLeasedMode() {
		try (TestDatabase partitioned = TestDatabase.partitioned()) {
			JdbcIdempotencyStore store = store(partitioned, Layout.PARTITIONED, "TRANSACTION_REPEATABLE_READ", true);
			ClaimRequest first = TestDatabase.request(TestDatabase.newKey());
			ClaimRequest second = TestDatabase.request(TestDatabase.newKey());
			assertThat(one(store).claim(first)).isEqualTo(new Claim.Acquired(1, 1));
			assertThat(store.claim(List.of(first, second))).hasOnlyElementsOfType(Claim.Acquired.class);
			assertThat(store.renew(List.of(first, second))).containsOnly(Settlement.SETTLED);
			assertThat(one(store).complete(first, null)).isEqualTo(Settlement.SETTLED);
			assertThat(store.deleteExpired(10, Duration.ZERO)).isZero();
		}
	}

	@Test
	void cleanupContinuesWhenARecordIsTakenOverDuringItsPause() {
		JdbcIdempotencyStore store = store(database, Layout.SINGLE, "TRANSACTION_REPEATABLE_READ", true);
		ClaimRequest expired = TestDatabase.request(TestDatabase.newKey());
		one(database.store()).claim(expired);
		one(database.store()).complete(expired, null);
		database.endRetention(expired.key());
		CompletableFuture<Integer> cleanup = CompletableFuture
			.supplyAsync(() -> store.deleteExpired(10, Duration.ofMillis(800)));
		await()
			.until(() -> database.jdbc()
				.queryForObject(
						"SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database "
								+ "WHERE l.locktype = 'advisory' AND d.datname = current_database()",
						Integer.class) > 0);
		assertThat(one(database.store()).claim(TestDatabase.request(expired.key()))).isInstanceOf(Claim.Acquired.class);
		assertThat(cleanup.join()).isZero();
	}

}
