/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;

import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link JdbcExecutor} with a pool whose connections do not auto-commit.
 */
@Tag("promise-11")
class JdbcExecutorTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final ClaimRequest request = TestDatabase.request(TestDatabase.newKey());

	private Connection connection;

	private WatchedConnection watched;

	private JdbcIdempotencyStore store;

	@BeforeEach
	void open() throws SQLException {
		this.connection = database.pool().getConnection();
		this.connection.setAutoCommit(false);
		this.watched = new WatchedConnection(this.connection);
		this.store = new JdbcIdempotencyStore(new SingleConnectionDataSource(this.watched.proxy(), true),
				TestDatabase.TABLE, TestDatabase.TIMEOUT);
		this.watched.unlimited().clear();
	}

	@AfterEach
	void close() throws SQLException {
		this.connection.close();
	}

	@Test
	void commitIsLimitedByTheTimeout() {
		one(this.store).claim(this.request);
		assertThat(one(database.store()).find(this.request.key())).isPresent();
		assertThat(this.watched.unlimited()).contains("setNetworkTimeout")
			.doesNotContain("commit", "rollback", "prepareStatement");
	}

	@Test
	void errorIsFollowedByARollbackWithinTheTimeout() throws SQLException {
		this.watched.failAt("commit", new OutOfMemoryError("As if"));
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> one(this.store).claim(this.request));
		this.connection.commit();
		assertThat(one(database.store()).find(this.request.key())).isEmpty();
		assertThat(this.watched.unlimited()).doesNotContain("commit", "rollback", "prepareStatement");
	}

	// A pool or a driver may close the connection after the statement has failed.
	@ParameterizedTest
	@ValueSource(strings = { "setNetworkTimeout", "setAutoCommit" })
	void failureToResetTheConnectionDoesNotHideTheErrorOfTheStatement(String reset) throws SQLException {
		this.connection.setAutoCommit(true);
		JdbcExecutor executor = new JdbcExecutor(new SingleConnectionDataSource(this.watched.proxy(), true),
				new PostgresDialect(Layout.SINGLE), null, TestDatabase.TIMEOUT);
		SQLException closed = new SQLException("This connection has been closed", "08003");
		assertThatExceptionOfType(IdempotencyStoreRefusedException.class)
			.isThrownBy(() -> executor.inNewTransaction((connection) -> {
				this.watched.failAt(reset, closed);
				throw new SQLException("As if", "22001");
			}))
			.withMessageContaining("22001")
			.havingCause()
			.satisfies((cause) -> assertThat(cause.getSuppressed()).containsExactly(closed));
	}

	// Another component aborted the transaction, and its pool did not roll it back.
	@Test
	void connectionWithAnAbortedTransactionIsAnErrorOfTheStore() throws SQLException {
		try (Statement statement = this.connection.createStatement()) {
			assertThatExceptionOfType(SQLException.class).isThrownBy(() -> statement.execute("SELECT 1 / 0"));
		}
		assertThatExceptionOfType(IdempotencyStoreRefusedException.class)
			.isThrownBy(() -> one(this.store).claim(this.request));
	}

}
