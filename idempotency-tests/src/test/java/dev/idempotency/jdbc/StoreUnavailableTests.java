/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.contract.Endings;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link JdbcIdempotencyStore} when its database is unavailable.
 */
@Tag("promise-11")
class StoreUnavailableTests {

	private static final ClaimRequest REQUEST = TestDatabase.request(TestDatabase.newKey());

	private static TestDatabase database;

	private static HikariDataSource gonePool;

	private static JdbcIdempotencyStore goneStore;

	@BeforeAll
	static void createDatabases() {
		database = TestDatabase.create();
		TestDatabase gone = TestDatabase.create();
		HikariConfig config = new HikariConfig();
		gone.pool().copyStateTo(config);
		config.setConnectionTimeout(250);
		gonePool = new HikariDataSource(config);
		goneStore = new JdbcIdempotencyStore(gonePool, TestDatabase.TABLE, TestDatabase.TIMEOUT);
		one(goneStore).claim(REQUEST);
		gone.drop();
		gone.close();
	}

	@AfterAll
	static void closeDatabases() {
		database.close();
		gonePool.close();
	}

	static Stream<Named<Consumer<JdbcIdempotencyStore>>> calls() {
		return Stream.of(Named.of("claim", (store) -> one(store).claim(TestDatabase.request(TestDatabase.newKey()))),
				Named.of("complete", (store) -> one(store).complete(REQUEST, null)),
				Named.of("fail", (store) -> one(store).fail(REQUEST, new Failure("x", null))),
				Named.of("release", (store) -> one(store).release(REQUEST)),
				Named.of("renew", (store) -> one(store).renew(REQUEST)),
				Named.of("note",
						(store) -> store.settleAfterTransaction(
								Endings.failed(List.of(REQUEST), new Failure("x", null)), List.of())),
				Named.of("find", (store) -> one(store).find(REQUEST.key())),
				Named.of("ping", JdbcIdempotencyStore::ping));
	}

	@ParameterizedTest
	@MethodSource("calls")
	void callWithoutADatabaseThrowsStoreUnavailable(Consumer<JdbcIdempotencyStore> call) {
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(() -> call.accept(goneStore));
	}

	@ParameterizedTest
	@MethodSource("calls")
	void callToAHangingDatabaseThrowsStoreUnavailableAfterTheTimeout(Consumer<JdbcIdempotencyStore> call) {
		whileTableIsLocked(() -> {
			long start = System.nanoTime();
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
				.isThrownBy(() -> call.accept(quickStore()));
			assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(2));
		});
	}

	@Test
	void callToAClosedPoolThrowsStoreUnavailable() {
		TestDatabase closed = TestDatabase.create();
		closed.close();
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(() -> closed.store().ping());
	}

	@Test
	void storeRecoversAfterTheDatabaseHung() {
		whileTableIsLocked(() -> assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
			.isThrownBy(() -> quickStore().ping()));
		assertThat(one(database.store()).claim(TestDatabase.request(TestDatabase.newKey())))
			.isEqualTo(new Claim.Acquired(1, 1));
	}

	private static JdbcIdempotencyStore quickStore() {
		return new JdbcIdempotencyStore(database.pool(), TestDatabase.TABLE, Duration.ofMillis(250));
	}

	private static void whileTableIsLocked(Runnable action) {
		new TransactionTemplate(new JdbcTransactionManager(database.pool())).executeWithoutResult((status) -> {
			new JdbcTemplate(database.pool()).execute("LOCK TABLE " + TestDatabase.TABLE);
			CompletableFuture.runAsync(action).orTimeout(5, TimeUnit.SECONDS).join();
		});
	}

}
