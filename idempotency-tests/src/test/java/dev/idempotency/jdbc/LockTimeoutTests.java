/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.stream.Stream;

import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.OperationInProgressException;
import dev.idempotency.contract.Endings;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.Failure;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests that {@link JdbcIdempotencyStore} restores the lock timeout of a session.
 */
@Tag("promise-13")
class LockTimeoutTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final ClaimRequest request = TestDatabase.request(TestDatabase.newKey());

	static Stream<Named<BiConsumer<JdbcIdempotencyStore, ClaimRequest>>> calls() {
		return Stream.of(Named.of("claim", (store, request) -> one(store).claim(request)),
				Named.of("completion with claim",
						(store, request) -> store.completeAndClaim(
								new Ending.Completed(TestDatabase.request(TestDatabase.newKey()), null), request)),
				Named.of("note", (store, request) -> store
					.settleAfterTransaction(Endings.failed(List.of(request), new Failure("x", null)), List.of())));
	}

	static Stream<Named<BiConsumer<JdbcIdempotencyStore, ClaimRequest>>> callsInTransaction() {
		return Stream.of(Named.of("insert", (store, request) -> one(store).insert(request)),
				Named.of("claim", (store, request) -> store.claimInTransaction(List.of(request), false).get(0)),
				Named.of("joined claim", (store, request) -> store.claimInTransaction(List.of(request), true).get(0)));
	}

	@ParameterizedTest
	@MethodSource("calls")
	void lockTimeoutOfTheSessionIsRestored(BiConsumer<JdbcIdempotencyStore, ClaimRequest> call) throws SQLException {
		assertThat(lockTimeoutAfter((session) -> call.accept(session.store(), this.request))).isEqualTo("7s");
	}

	@ParameterizedTest
	@MethodSource("calls")
	void lockTimeoutOfTheSessionIsRestoredWhenTheKeyIsTaken(BiConsumer<JdbcIdempotencyStore, ClaimRequest> call)
			throws SQLException {
		one(database.store()).claim(this.request);
		assertThat(lockTimeoutAfter((session) -> call.accept(session.store(), this.request))).isEqualTo("7s");
	}

	@ParameterizedTest
	@MethodSource("callsInTransaction")
	void lockTimeoutOfTheSessionIsRestoredAfterACommit(BiConsumer<JdbcIdempotencyStore, ClaimRequest> call)
			throws SQLException {
		assertThat(lockTimeoutAfter((session) -> session.transactions()
			.executeWithoutResult((status) -> call.accept(session.store(), this.request)))).isEqualTo("7s");
	}

	@ParameterizedTest
	@MethodSource("callsInTransaction")
	void lockTimeoutOfTheTransactionIsRestored(BiConsumer<JdbcIdempotencyStore, ClaimRequest> call)
			throws SQLException {
		lockTimeoutAfter((session) -> session.transactions().executeWithoutResult((status) -> {
			call.accept(session.store(), this.request);
			assertThat(session.lockTimeout()).isEqualTo("7s");
		}));
	}

	@Test
	void lockTimeoutOfTheSessionIsRestoredAfterALockTimeout() throws SQLException {
		assertThat(lockTimeoutAfter(
				(session) -> whileInserted(() -> assertThatExceptionOfType(OperationInProgressException.class)
					.isThrownBy(() -> session.transactions()
						.executeWithoutResult((status) -> one(session.store()).insert(this.request))))))
			.isEqualTo("7s");
	}

	private static String lockTimeoutAfter(Consumer<Session> action) throws SQLException {
		try (Connection connection = database.pool().getConnection()) {
			Session session = Session.of(connection);
			session.jdbc().execute("SET lock_timeout = '7s'");
			try {
				action.accept(session);
				return session.lockTimeout();
			}
			finally {
				session.jdbc().execute("RESET lock_timeout");
			}
		}
	}

	private void whileInserted(Runnable action) {
		new TransactionTemplate(new JdbcTransactionManager(database.pool())).executeWithoutResult((status) -> {
			one(database.store()).insert(this.request);
			CompletableFuture.runAsync(action).orTimeout(5, TimeUnit.SECONDS).join();
		});
	}

	private record Session(JdbcTemplate jdbc, TransactionTemplate transactions, JdbcIdempotencyStore store) {

		static Session of(Connection connection) {
			SingleConnectionDataSource dataSource = new SingleConnectionDataSource(connection, true);
			return new Session(new JdbcTemplate(dataSource),
					new TransactionTemplate(new JdbcTransactionManager(dataSource)),
					new JdbcIdempotencyStore(dataSource, TestDatabase.TABLE, TestDatabase.TIMEOUT));
		}

		String lockTimeout() {
			return this.jdbc.queryForObject("SHOW lock_timeout", String.class);
		}

	}

}
