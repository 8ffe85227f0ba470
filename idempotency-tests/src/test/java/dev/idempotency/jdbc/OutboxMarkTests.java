/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.UUID;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.outbox.OutboxStore.ClaimedRow;
import dev.idempotency.outbox.OutboxStore.RelayFailure;
import dev.idempotency.outbox.TimeOrderedUuid;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for a relay that skips published messages by its marks. It must find messages
 * that become visible, or pending again, before a mark.
 */
@Tag("promise-1")
class OutboxMarkTests {

	private static final String TABLE = "idempotency_outbox";

	private static final int MESSAGES = 100;

	@RegisterExtension
	TestDatabase database = TestDatabase.create();

	private final Dialect dialect = new PostgresDialect(Layout.SINGLE);

	private final OutboxSql sql = this.dialect.outbox(TableName.of(TABLE));

	private long nanos;

	private final OutboxMarks marks = new OutboxMarks(() -> this.nanos);

	private final OutboxMarks others = new OutboxMarks(() -> this.nanos);

	@BeforeEach
	void create() {
		JdbcSchemaMigration.migrateOutbox(this.database.pool(), this.database.pool(), TABLE);
	}

	private OutboxStore.Claim claim(OutboxMarks relay) {
		this.nanos += Duration.ofSeconds(1).toNanos();
		return JdbcOutboxClaim.open(new JdbcExecutor(this.database.pool(), this.dialect, null, Duration.ofSeconds(10)),
				this.sql, relay, false, OutboxStore.DeadLetterPolicy.BLOCK_KEY, 1000, Set.of());
	}

	private List<String> publish(OutboxMarks relay) {
		try (OutboxStore.Claim claim = claim(relay)) {
			claim.settle(claim.rows(), List.of());
			return ids(claim);
		}
	}

	private static List<String> ids(OutboxStore.Claim claim) {
		return claim.rows().stream().map((claimed) -> claimed.row().idempotencyKey()).toList();
	}

	// Both need several rounds, because each round locks half of the lanes.
	private List<String> publishAll() {
		List<String> published = new ArrayList<>();
		for (int i = 0; i < 4; i++) {
			published.addAll(publish(this.marks));
			published.addAll(publish(this.others));
		}
		return published;
	}

	private long mark(OutboxMarks relay, String key) {
		return (Long) relay.parameters().elements("marks")[row(key, key).lane(OutboxSql.LANES)];
	}

	private static OutboxRow row(String key, String id) {
		return new OutboxRow(TimeOrderedUuid.next(), "topic", key.getBytes(StandardCharsets.UTF_8), new byte[0],
				List.of(), id, "a", "1", "b");
	}

	private void insert(Connection connection, OutboxRow row) throws SQLException {
		OutboxRowMapper.insert(this.sql, false).update(connection, OutboxRowMapper.parameters(row));
	}

	private void send(String key, String id) throws SQLException {
		try (Connection connection = this.database.pool().getConnection()) {
			insert(connection, row(key, id));
		}
	}

	private void sendMany() throws SQLException {
		try (Connection connection = this.database.pool().getConnection()) {
			connection.setAutoCommit(false);
			for (int i = 0; i < MESSAGES; i++) {
				insert(connection, row("key" + i, "id"));
			}
			connection.commit();
			connection.setAutoCommit(true);
		}
	}

	@Test
	void marksPassPublishedMessages() throws SQLException {
		sendMany();
		publishAll();
		assertThat(mark(this.marks, "key")).isGreaterThan(MESSAGES);
		assertThat(mark(this.others, "key")).isGreaterThan(MESSAGES);
	}

	@Test
	void messageThatIsCommittedLateIsPublishedInItsOrder() throws SQLException {
		sendMany();
		publishAll();
		try (Connection late = this.database.pool().getConnection()) {
			late.setAutoCommit(false);
			insert(late, row("late", "late"));
			sendMany();
			assertThat(publishAll()).hasSize(MESSAGES);
			assertThat(mark(this.marks, "late")).isLessThan(MESSAGES + 2);
			late.commit();
			late.setAutoCommit(true);
		}
		send("late", "next");
		assertThat(publishAll()).containsExactly("late", "next");
		sendMany();
		publishAll();
		assertThat(mark(this.marks, "late")).isGreaterThan(3 * MESSAGES);
	}

	@Test
	void retriedMessageIsPublishedBeforeLaterMessages() throws SQLException {
		UUID bad = refuse("key", "bad");
		sendMany();
		publishAll();
		assertThat(mark(this.others, "key")).isGreaterThan(MESSAGES);
		update(this.sql.retry(), Parameters.of("id", bad));
		send("key", "next");
		assertThat(publish(this.others)).containsExactly("bad", "next");
	}

	// The retried message and the two messages that it blocked are before the marks.
	@Test
	void blockedMessagesBeforeTheMarksFollowTheRetriedMessage() throws SQLException {
		UUID bad = refuse("key", "bad");
		send("key", "second");
		send("key", "third");
		sendMany();
		publishAll();
		assertThat(mark(this.marks, "key")).isGreaterThan(MESSAGES);
		assertThat(mark(this.others, "key")).isGreaterThan(MESSAGES);
		update(this.sql.retry(), Parameters.of("id", bad));
		send("key", "last");
		assertThat(publishAll()).containsExactly("bad");
		sendMany();
		assertThat(publishAll()).containsOnly("id");
		update(this.sql.unblock(), Parameters.of("limit", 1000));
		assertThat(publish(this.others)).containsExactly("second", "third");
		update(this.sql.unblock(), Parameters.of("limit", 1000));
		assertThat(publishAll()).containsExactly("last");
	}

	@Test
	void messageThatIsCommittedLateIsBlockedByTheDeadLetterOfItsKey() throws SQLException {
		UUID bad = refuse("key", "bad");
		try (Connection late = this.database.pool().getConnection()) {
			late.setAutoCommit(false);
			insert(late, row("key", "late"));
			sendMany();
			publishAll();
			assertThat(mark(this.marks, "key")).isLessThan(MESSAGES);
			late.commit();
			late.setAutoCommit(true);
		}
		sendMany();
		assertThat(publishAll()).doesNotContain("late");
		publishAll();
		assertThat(mark(this.marks, "key")).isGreaterThan(2 * MESSAGES);
		assertThat(mark(this.others, "key")).isGreaterThan(2 * MESSAGES);
		update(this.sql.discard(), Parameters.of("id", bad));
		update(this.sql.unblock(), Parameters.of("limit", 1000));
		send("key", "next");
		assertThat(publish(this.others)).containsExactly("late", "next");
	}

	@Test
	void messageBeforeTheMarksThatWaitsForItsNextAttemptBlocksItsKey() throws SQLException {
		UUID bad = refuse("key", "bad");
		send("key", "second");
		sendMany();
		publishAll();
		update(this.sql.retry(), Parameters.of("id", bad));
		try (OutboxStore.Claim claim = claim(this.others)) {
			claim.settle(List.of(), List
				.of(new RelayFailure(claim.rows().get(0), 1, new IllegalStateException("no"), Duration.ofHours(1))));
		}
		update(this.sql.unblock(), Parameters.of("limit", 1000));
		send("key", "next");
		assertThat(publishAll()).isEmpty();
		this.database.jdbc().update("UPDATE idempotency_outbox SET next_attempt_at = now() WHERE id = ?", bad);
		assertThat(publish(this.marks)).containsExactly("bad", "second", "next");
	}

	private UUID refuse(String key, String id) throws SQLException {
		send(key, id);
		try (OutboxStore.Claim claim = claim(this.marks)) {
			ClaimedRow row = claim.rows().get(0);
			claim.settle(List.of(), List.of(new RelayFailure(row, 1, new IllegalStateException("no"), null)));
			return row.row().id();
		}
	}

	private void update(String statement, Parameters parameters) throws SQLException {
		try (Connection connection = this.database.pool().getConnection()) {
			assertThat(SqlStatement.of(statement).update(connection, parameters)).isPositive();
		}
	}

	@Test
	void messageThatIsMadePendingByHandIsFoundByAFullSearch() throws SQLException {
		sendMany();
		publishAll();
		this.database.jdbc().update("UPDATE idempotency_outbox SET published_at = NULL WHERE position = 7");
		List<String> published = new ArrayList<>();
		for (int i = 0; i <= OutboxSql.LANES; i++) {
			this.nanos += Duration.ofSeconds(10).toNanos();
			published.addAll(publish(this.marks));
		}
		assertThat(published).hasSize(1);
	}

	@Test
	void marksAreResetWhenPositionsRestart() throws SQLException {
		sendMany();
		publishAll();
		this.database.jdbc().execute("TRUNCATE idempotency_outbox RESTART IDENTITY");
		send("key", "first");
		assertThat(publishAll()).containsExactly("first");
	}

	// A standby that has become the primary server may have lost the last positions.
	@Test
	void marksOfAnotherServerAreReset() throws SQLException {
		this.marks.learn("another", 1_000_000, Set.of(), noneIsPending());
		this.marks.learn("another", 1_000_000, Set.of(), noneIsPending());
		assertThat(mark(this.marks, "key")).isGreaterThan(MESSAGES);
		send("key", "first");
		assertThat(publish(this.marks)).containsExactly("first");
	}

	@Test
	void preparedTransactionHoldsTheMarkUnderItsNewName() {
		this.marks.learn("server", 10, Set.of("3/7"), noneIsPending());
		this.marks.learn("server", 20, Set.of("-1/99"), noneIsPending());
		this.marks.learn("server", 30, Set.of("-1/99", "-1/100"), noneIsPending());
		this.marks.learn("server", 40, Set.of("-1/100"), noneIsPending());
		this.marks.learn("server", 40, Set.of("-1/100"), noneIsPending());
		assertThat(mark(this.marks, "key")).isEqualTo(11);
	}

	// At each search another transaction holds the lock.
	@Test
	void marksMoveWhileOtherTransactionsAlwaysWrite() {
		this.marks.learn("server", 10, Set.of("3/1"), noneIsPending());
		this.marks.learn("server", 20, Set.of("3/1", "4/1"), noneIsPending());
		this.marks.learn("server", 30, Set.of("4/1", "3/2"), noneIsPending());
		this.marks.learn("server", 40, Set.of("4/2"), noneIsPending());
		assertThat(mark(this.marks, "key")).isEqualTo(11);
		this.marks.learn("server", 50, Set.of("4/3"), noneIsPending());
		assertThat(mark(this.marks, "key")).isEqualTo(31);
	}

	// A new relay must not read all published messages before it knows a position.
	@Test
	void firstSearchReadsNoMessages() {
		Parameters parameters = Parameters.none();
		this.marks.begin(parameters);
		assertThat(parameters.elements("starts")).containsOnlyNulls();
		this.marks.learn("server", 10, Set.of(), noneIsPending());
		assertThat(this.marks.areMissing()).isTrue();
		this.marks.learn("server", 10, Set.of(), noneIsPending());
		assertThat(this.marks.areMissing()).isFalse();
	}

	private static Long[] noneIsPending() {
		return Collections.nCopies(OutboxSql.LANES, (Long) null).toArray(new Long[0]);
	}

}
