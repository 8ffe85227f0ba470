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
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.outbox.OutboxPublisher;
import dev.idempotency.outbox.OutboxRelay;
import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.outbox.OutboxStore.ClaimedRow;
import dev.idempotency.outbox.OutboxStore.RelayFailure;
import dev.idempotency.outbox.TimeOrderedUuid;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for a relay that cannot mark messages as published.
 */
@Tag("promise-14")
class OutboxLockTests {

	private static final int MESSAGES = 50;

	@RegisterExtension
	TestDatabase database = TestDatabase.create();

	private final String role = Servers.unique("relay_user_");

	private final String table = Servers.unique("outbox_");

	private final List<String> sent = new CopyOnWriteArrayList<>();

	private HikariDataSource pool;

	private JdbcTransactionManager manager;

	@BeforeEach
	void create() {
		JdbcSchemaMigration.migrateOutbox(this.database.pool(), this.database.pool(), this.table);
		this.database.jdbc().execute("CREATE ROLE " + this.role);
		this.database.jdbc()
			.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON " + this.table + ", " + this.table + "_lane TO "
					+ this.role);
		HikariConfig config = new HikariConfig();
		config.setDataSource(this.database.pool());
		config.setConnectionInitSql("SET ROLE " + this.role);
		config.setMaximumPoolSize(4);
		this.pool = new HikariDataSource(config);
		this.manager = new JdbcTransactionManager(this.pool);
		JdbcOutboxStore store = store(Duration.ZERO);
		List<OutboxRow> rows = IntStream.range(0, MESSAGES)
			.mapToObj((i) -> new OutboxRow(TimeOrderedUuid.next(), "topic",
					("key" + i % 5).getBytes(StandardCharsets.UTF_8), new byte[1], List.of(), "id" + i, "a", "1", "b"))
			.toList();
		new TransactionTemplate(this.manager).executeWithoutResult((status) -> store.insert(rows));
	}

	@AfterEach
	void close() {
		this.pool.close();
		this.database.jdbc().execute("DROP OWNED BY " + this.role);
		this.database.jdbc().execute("DROP ROLE " + this.role);
	}

	private JdbcOutboxStore store(Duration retention) {
		return new JdbcOutboxStore(this.pool, this.manager, this.table, Duration.ofSeconds(20), retention, false);
	}

	private OutboxRelay relay(JdbcOutboxStore store) {
		return new OutboxRelay(store, new Recorder(), new OutboxRelay.Settings(500, Duration.ofMillis(50),
				Duration.ofSeconds(2), 10, Duration.ofMillis(250), Duration.ofSeconds(1), 1), List.of());
	}

	private void awaitPublishedOnceInOrder(JdbcOutboxStore store) {
		Awaitility.await().untilAsserted(() -> assertThat(store.status().pending()).isZero());
		assertThat(this.sent).hasSize(MESSAGES).doesNotHaveDuplicates();
		for (int key = 0; key < 5; key++) {
			int last = key;
			assertThat(this.sent.stream().map((id) -> Integer.valueOf(id.substring(2))).filter((i) -> i % 5 == last))
				.isSorted();
		}
	}

	@Test
	void noMessageIsPublishedWhileAnIndexIsCreated() throws SQLException {
		JdbcOutboxStore store = store(Duration.ofHours(1));
		OutboxRelay relay = relay(store);
		try (Logs logs = Logs.about(this.table.toString());
				Connection ddl = this.database.pool().getConnection();
				Statement statement = ddl.createStatement()) {
			ddl.setAutoCommit(false);
			statement.execute("CREATE INDEX ON " + this.table + " (created_at)");
			relay.start();
			Awaitility.await()
				.atMost(Duration.ofSeconds(15))
				.untilAsserted(() -> assertThat(logs.messages("WARN").toString())
					.contains("Another transaction has locked the outbox"));
			assertThat(this.sent).isEmpty();
			ddl.commit();
			ddl.setAutoCommit(true);
			awaitPublishedOnceInOrder(store);
		}
		finally {
			relay.stop();
		}
	}

	@ParameterizedTest
	@CsvSource({ "UPDATE, PT1H", "DELETE, PT0S" })
	void noMessageIsPublishedWithoutThePrivilegeToMarkIt(String privilege, Duration retention) {
		this.database.jdbc().execute("REVOKE " + privilege + " ON " + this.table + " FROM " + this.role);
		JdbcOutboxStore store = store(retention);
		OutboxRelay relay = relay(store);
		try (Logs logs = Logs.about(this.table.toString())) {
			relay.start();
			Awaitility.await()
				.atMost(Duration.ofSeconds(15))
				.untilAsserted(() -> assertThat(logs.messages("WARN").toString()).contains("42501")
					.contains("Grant the user"));
			assertThat(this.sent).isEmpty();
			this.database.jdbc().execute("GRANT " + privilege + " ON " + this.table + " TO " + this.role);
			awaitPublishedOnceInOrder(store);
		}
		finally {
			relay.stop();
		}
	}

	// Another transaction has locked the message and stays open.
	@Test
	@Tag("promise-14")
	void lockedMessageDoesNotDelayOtherMessages() throws SQLException {
		JdbcOutboxStore store = store(Duration.ofHours(1));
		ClaimedRow refused;
		try (OutboxStore.Claim claim = store.claim(500, Set.of())) {
			refused = claim.rows().get(0);
			claim.settle(List.of(), List.of(new RelayFailure(refused, 1, new IllegalStateException("no"), null)));
		}
		int others = MESSAGES - MESSAGES / 5;
		Awaitility.await().untilAsserted(() -> {
			assertThat(claimed(store)).hasSizeLessThanOrEqualTo(others);
			assertThat(store.status().blocked()).isEqualTo(MESSAGES / 5 - 1);
		});
		try (Connection person = this.database.pool().getConnection(); Statement statement = person.createStatement()) {
			person.setAutoCommit(false);
			statement.execute("SELECT FROM " + this.table + " WHERE blocked_by IS NOT NULL ORDER BY position LIMIT 1 "
					+ "FOR UPDATE");
			assertThat(store.discard(refused.row().id())).isTrue();
			assertThat(CompletableFuture.supplyAsync(() -> claimed(store))).succeedsWithin(Duration.ofSeconds(5));
			person.rollback();
			person.setAutoCommit(true);
		}
		OutboxRelay relay = relay(store);
		relay.start();
		try {
			Awaitility.await().atMost(Duration.ofSeconds(15)).untilAsserted(() -> {
				assertThat(store.status().pending()).isZero();
				assertThat(store.status().blocked()).isZero();
			});
		}
		finally {
			relay.stop();
		}
		assertThat(this.sent).hasSize(MESSAGES - 1).doesNotHaveDuplicates();
		String key = refused.row().idempotencyKey();
		assertThat(ofKeyOf(key)).isSorted();
	}

	private List<Integer> ofKeyOf(String key) {
		int wanted = Integer.parseInt(key.substring(2)) % 5;
		return this.sent.stream().map((id) -> Integer.valueOf(id.substring(2))).filter((i) -> i % 5 == wanted).toList();
	}

	private static List<ClaimedRow> claimed(JdbcOutboxStore store) {
		try (OutboxStore.Claim claim = store.claim(500, Set.of())) {
			List<ClaimedRow> rows = claim.rows();
			claim.settle(List.of(), List.of());
			return rows;
		}
	}

	/**
	 * A broker that takes everything.
	 */
	private final class Recorder implements OutboxPublisher {

		@Override
		public CompletionStage<?> publish(OutboxRow row) {
			OutboxLockTests.this.sent.add(row.idempotencyKey());
			return CompletableFuture.completedFuture(null);
		}

		@Override
		public FailureKind kindOf(Throwable error) {
			return FailureKind.UNAVAILABLE;
		}

	}

}
