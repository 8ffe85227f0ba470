/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.core.ConnectionCallback;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.jdbc.OutboxSql.Claims;
import dev.idempotency.outbox.OutboxStore.Status;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that the statements of a relay read few blocks when there are many messages that
 * they do not claim: a round must not become slower with the backlog.
 */
class OutboxPlanTests {

	private static final String TABLE = "idempotency_outbox";

	private static final int ROWS = 20_000;

	// The number of keys with a dead letter.
	private static final int KEYS = 2000;

	// In blocks of 8 kB. All rows together fill about 1,800.
	private static final int FEW = 1000;

	private static final Object[] LANES = IntStream.rangeClosed(1, 16).boxed().toArray();

	@RegisterExtension
	TestDatabase database = TestDatabase.create();

	private final OutboxSql sql = new PostgresOutboxSql(TableName.of(TABLE));

	private long nanos;

	private final OutboxMarks marks = new OutboxMarks(() -> this.nanos);

	@BeforeEach
	void create() {
		JdbcSchemaMigration.migrateOutbox(this.database.pool(), this.database.pool(), TABLE);
	}

	private void fill(boolean published) {
		fill(published, ROWS);
	}

	private void fill(boolean published, int rows) {
		this.database.jdbc()
			.update("""
					INSERT INTO idempotency_outbox (id, lane, aggregatetype, aggregateid, type, topic, message_key, payload,
					  idempotency_key, published_at)
					SELECT gen_random_uuid(), i %% 64, 'account', '1', 'charged', 'topic', convert_to('key' || i %% 1000, 'UTF8'),
					  convert_to(repeat('x', 200), 'UTF8'), i, %s FROM generate_series(1, ?) i"""
				.formatted(published ? "now()" : "NULL"), rows);
	}

	private void vacuum(boolean analyze) {
		this.database.jdbc().execute("VACUUM " + (analyze ? "ANALYZE " : "") + TABLE);
	}

	private JsonNode plan(String statement, Parameters parameters) {
		String answer = this.database.jdbc()
			.execute((ConnectionCallback<String>) (connection) -> first(connection,
					"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + statement, parameters));
		return JsonMapper.shared().readTree(answer).path(0).path("Plan");
	}

	private static String first(Connection connection, String statement, Parameters parameters) throws SQLException {
		try (PreparedStatement prepared = SqlStatement.of(statement).prepare(connection, parameters);
				ResultSet row = prepared.executeQuery()) {
			row.next();
			return row.getString(1);
		}
	}

	private Parameters parameters(String... topics) {
		return this.marks.parameters()
			.with("some", 32)
			.with("lanes", "smallint", LANES)
			.with("topics", "text", topics)
			.with("limit", 8)
			.with("most", Status.MAX_COUNT);
	}

	private int blocks(String statement, Parameters parameters) {
		JsonNode plan = plan(statement, parameters);
		return plan.path("Shared Hit Blocks").asInt() + plan.path("Shared Read Blocks").asInt();
	}

	private void look() {
		this.nanos += Duration.ofSeconds(1).toNanos();
		Parameters parameters = Parameters.none();
		long number = this.marks.begin(parameters);
		this.database.jdbc().execute((ConnectionCallback<Boolean>) (connection) -> {
			try (PreparedStatement prepared = SqlStatement.of(this.sql.look()).prepare(connection, parameters);
					ResultSet row = prepared.executeQuery()) {
				this.marks.learn(number, row);
				return true;
			}
		});
	}

	// A dump or a forgotten transaction prevents the cleanup of the indexes.
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void roundReadsFewBlocksWhenManyMessagesArePublishedUnderAnOpenSnapshot(boolean analyzed) throws SQLException {
		fill(false);
		if (analyzed) {
			this.database.jdbc().execute("ANALYZE idempotency_outbox");
		}
		try (Connection dump = this.database.pool().getConnection()) {
			dump.setAutoCommit(false);
			dump.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
			first(dump, "SELECT count(*) FROM idempotency_outbox", Parameters.none());
			this.database.jdbc().update("UPDATE idempotency_outbox SET published_at = now()");
			fill(false, 64);
			Claims all = this.sql.claims(Set.of());
			Claims some = this.sql.claims(Set.of("topic"));
			assertThat(blocks(all.lockLanes(), parameters())).as("without marks").isGreaterThan(ROWS / 4);
			look();
			look();
			assertThat(blocks(all.lockLanes(), parameters())).isLessThan(FEW);
			assertThat(blocks(all.rows(), parameters())).isLessThan(FEW);
			assertThat(blocks(some.lockLanes(), parameters("topic"))).isLessThan(FEW);
			assertThat(blocks(some.rows(), parameters("topic"))).isLessThan(FEW);
			assertThat(blocks(this.sql.status(), parameters())).isLessThan(FEW);
			// The search itself, except for the lane that it reads from
			// its beginning.
			this.nanos += Duration.ofSeconds(1).toNanos();
			Parameters parameters = Parameters.none();
			this.marks.begin(parameters);
			assertThat(blocks(this.sql.look(), parameters)).isLessThan(FEW);
			dump.rollback();
			dump.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
			dump.setAutoCommit(true);
		}
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void roundReadsFewBlocksWhenManyMessagesArePendingOrPublished(boolean analyzed) {
		fill(true);
		fill(false);
		if (analyzed) {
			this.database.jdbc().execute("ANALYZE idempotency_outbox");
		}
		Claims all = this.sql.claims(Set.of());
		assertThat(blocks(all.lockLanes(), parameters())).isLessThan(FEW);
		assertThat(blocks(all.rows(), parameters())).isLessThan(FEW);
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void roundReadsFewBlocksWhenATopicIsLeftOut(boolean analyzed) {
		fill(false);
		this.database.jdbc().update("UPDATE idempotency_outbox SET topic = 'wanted' WHERE position % 100 = 99");
		vacuum(analyzed);
		Claims some = this.sql.claims(Set.of("topic"));
		assertThat(blocks(some.lockLanes(), parameters("topic"))).isLessThan(FEW);
		assertThat(blocks(some.rows(), parameters("topic"))).isLessThan(FEW);
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void failedMessagesAreNotComparedWithAllPendingMessages(boolean analyzed) {
		fill(false);
		// A lane contains a thousand keys, whose first messages fail and block
		// the others.
		this.database.jdbc().update("UPDATE idempotency_outbox SET lane = 1");
		this.database.jdbc()
			.update("UPDATE idempotency_outbox SET next_attempt_at = now() + interval '1 h' WHERE position <= 1000");
		vacuum(analyzed);
		assertThat(compared(plan(this.sql.claims(Set.of()).lockLanes(), parameters()))).isLessThan(ROWS);
	}

	// Thousands of keys are blocked with all their later messages.
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void roundReadsFewBlocksWhenManyMessagesAreBlocked(boolean analyzed) {
		fill(false);
		this.database.jdbc()
			.update("""
					UPDATE idempotency_outbox SET message_key = convert_to('key' || (position %% %d), 'UTF8'), lane = position %% 64
					"""
				.formatted(KEYS));
		this.database.jdbc()
			.update("UPDATE idempotency_outbox SET dead_letter_at = now(), next_attempt_at = now() WHERE position <= ?",
					KEYS);
		this.database.jdbc().update("""
				UPDATE idempotency_outbox o SET dead_letter_at = now(), next_attempt_at = now(), blocked_by = f.id
				FROM idempotency_outbox f WHERE f.position <= ? AND f.message_key = o.message_key
				  AND o.position BETWEEN ? AND ?""", KEYS, KEYS + 1, ROWS - 100);
		vacuum(analyzed);
		Claims all = this.sql.claims(Set.of());
		assertThat(blocks(all.lockLanes(), parameters())).isLessThan(FEW);
		JsonNode rows = plan(all.rows(), parameters());
		assertThat(rows.path("Actual Rows").asInt()).isPositive();
		assertThat(blocks(all.rows(), parameters())).isLessThan(FEW);
		// The statement costs one index lookup for each blocker.
		assertThat(blocks(this.sql.unblock(), Parameters.of("limit", 1000))).isLessThan(30 * KEYS);
	}

	// A server in FIPS mode refuses md5().
	@Test
	void neitherIndexesNorStatementsUseMd5() {
		List<String> indexes = this.database.jdbc()
			.queryForList("SELECT indexdef FROM pg_indexes WHERE tablename = 'idempotency_outbox'", String.class);
		assertThat(indexes).hasSizeGreaterThan(5).noneMatch((index) -> index.contains("md5"));
		assertThat(this.sql.claims(Set.of()).toString()).doesNotContain("md5");
	}

	@Test
	void vacuumAlwaysCleansTheIndexes() {
		assertThat(this.database.jdbc()
			.queryForObject(
					"SELECT array_to_string(reloptions, ',') FROM pg_class WHERE relname = 'idempotency_outbox'",
					String.class))
			.contains("vacuum_index_cleanup=on", "autovacuum_vacuum_threshold=5000");
	}

	private static int compared(JsonNode plan) {
		return plan.path("Rows Removed by Join Filter").asInt() * Math.max(1, plan.path("Actual Loops").asInt())
				+ plan.path("Plans").valueStream().mapToInt(OutboxPlanTests::compared).sum();
	}

}
