/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import dev.idempotency.jdbc.Dialect.Problem;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link StatementLimit}.
 */
@Tag("promise-13")
class StatementLimitTests {

	private static final Duration LIMIT = Duration.ofMillis(40);

	private static final int ROUNDS = 100;

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	// A cancellation that arrives before the statement has no effect.
	@Test
	void overdueStatementIsCancelledAndTheConnectionStaysUsable() throws SQLException {
		try (Connection connection = database.pool().getConnection()) {
			SqlStatement sleep = SqlStatement.of("SELECT 1 FROM pg_sleep(20)")
				.limitedBy(new StatementLimit(LIMIT.multipliedBy(10)));
			assertThatExceptionOfType(SQLException.class)
				.isThrownBy(() -> sleep.first(connection, Parameters.of(TestDatabase.request(TestDatabase.newKey())),
						(row) -> row.getInt(1)))
				.satisfies((ex) -> assertThat(ex.getSQLState()).isEqualTo("57014"));
			try (Statement next = connection.createStatement()) {
				assertThat(next.execute("SELECT pg_sleep(0.1)")).isTrue();
			}
		}
	}

	// A statement that waits for a synchronous standby ends like this one.
	@Test
	@Tag("promise-2")
	void cancelledStatementThatSucceedsCountsAsFailed() throws SQLException {
		database.jdbc().execute("""
				CREATE OR REPLACE FUNCTION sleep_in_spite_of_cancellation() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
				  PERFORM pg_sleep(20);
				  RETURN 1;
				EXCEPTION WHEN query_canceled THEN RETURN 2;
				END $$""");
		SqlStatement sleep = SqlStatement.of("SELECT sleep_in_spite_of_cancellation()")
			.limitedBy(new StatementLimit(LIMIT));
		try (Connection connection = database.pool().getConnection()) {
			assertUnknown(() -> sleep.first(connection, Parameters.none(), (row) -> row.getInt(1)));
			assertUnknown(() -> sleep.query(connection, Parameters.none(), (row) -> row.getInt(1)));
			assertUnknown(() -> sleep.update(connection, Parameters.none()));
		}
	}

	// The claims of a partitioned table are functions.
	@Test
	@Tag("promise-11")
	void slowFunctionHasNoOtherOwner() throws SQLException {
		database.jdbc().execute("""
				CREATE OR REPLACE FUNCTION slow() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
				  PERFORM pg_sleep(20);
				  RETURN 1;
				END $$""");
		SqlStatement slow = SqlStatement.of("SELECT slow()").limitedBy(new StatementLimit(LIMIT));
		try (Connection connection = database.pool().getConnection()) {
			assertUnknown(() -> slow.first(connection, Parameters.none(), (row) -> row.getInt(1)));
		}
	}

	private static void assertUnknown(ThrowingCallable statement) {
		assertThatExceptionOfType(SQLException.class).isThrownBy(statement)
			.satisfies((ex) -> assertThat(new PostgresDialect(Layout.SINGLE).is(Problem.OUTAGE, ex)).isTrue())
			.satisfies((ex) -> assertThat(new PostgresDialect(Layout.SINGLE).is(Problem.CONTENTION, ex)).isFalse());
	}

	// The lock is released at about the moment of the cancellation. A cancellation that
	// arrives late would end the statement after the claim.
	@Test
	@Tag("promise-2")
	void cancellationNeverEndsTheNextStatementOfTheConnection() throws Exception {
		PostgresDialect dialect = new PostgresDialect(Layout.SINGLE);
		JdbcClaims claims = new JdbcClaims(dialect.records(TableName.of(TestDatabase.TABLE), LIMIT), dialect);
		// Its own statements are not overdue on a busy machine.
		JdbcClaims patient = new JdbcClaims(dialect.records(TableName.of(TestDatabase.TABLE), Duration.ofSeconds(20)),
				dialect);
		int cancelled = 0;
		int waited = 0;
		try (Connection connection = database.pool().getConnection();
				Connection other = database.pool().getConnection();
				Statement next = connection.createStatement()) {
			connection.setAutoCommit(false);
			other.setAutoCommit(false);
			for (int round = 0; round < ROUNDS; round++) {
				ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
				assertThat(patient.insertAll(other, List.of(request)).get(0)).isPresent();
				CompletableFuture<Void> commit = commitAfter(other, 0.038 + 0.01 * round / ROUNDS);
				try {
					assertThat(claims.insertAll(connection, List.of(request)).get(0)).isEmpty();
					waited++;
				}
				catch (SQLException ex) {
					assertThat(ex.getSQLState()).isEqualTo("57014");
					cancelled++;
					connection.rollback();
				}
				next.execute("SELECT pg_sleep(0.002)");
				connection.commit();
				commit.get(20, TimeUnit.SECONDS);
			}
		}
		// Otherwise the test has shown nothing.
		assertThat(cancelled).as("cancelled").isPositive();
		assertThat(waited).as("waited").isPositive();
	}

	private static CompletableFuture<Void> commitAfter(Connection connection, double seconds) {
		return CompletableFuture.runAsync(() -> {
			try (Statement statement = connection.createStatement()) {
				statement.execute("SELECT pg_sleep(" + seconds + ")");
				connection.commit();
			}
			catch (SQLException ex) {
				throw new IllegalStateException(ex);
			}
		});
	}

	@Test
	void noThreadStaysWhenNothingRuns() throws SQLException {
		StatementLimit limit = new StatementLimit(Duration.ofMillis(8));
		try (Connection connection = database.pool().getConnection();
				PreparedStatement statement = connection.prepareStatement("SELECT 1")) {
			for (int round = 0; round < 2; round++) {
				try (StatementLimit.Running running = limit.start(statement)) {
					assertThat(limit.isWatched()).isTrue();
				}
				await().atMost(Duration.ofSeconds(20)).until(() -> !limit.isWatched());
			}
		}
	}

}
