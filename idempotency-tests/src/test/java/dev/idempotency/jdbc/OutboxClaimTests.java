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
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.outbox.TimeOrderedUuid;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for the locks and the connection of an outbox claim on PostgreSQL.
 */
class OutboxClaimTests {

	private static final String TABLE = "idempotency_outbox";

	private static final int MESSAGES = 200;

	private static final int MEGABYTE = 1 << 20;

	@RegisterExtension
	TestDatabase database = TestDatabase.create();

	private JdbcOutboxStore store;

	@BeforeEach
	void create() {
		JdbcSchemaMigration.migrateOutbox(this.database.pool(), this.database.pool(), TABLE);
		// Forty megabytes take a slow machine longer than an application lets a statement
		// take.
		this.store = new JdbcOutboxStore(this.database.pool(), new JdbcTransactionManager(this.database.pool()), TABLE,
				Duration.ofMinutes(1), Duration.ofHours(1), false);
	}

	private void send(int messages, int size) {
		List<OutboxRow> rows = IntStream.range(0, messages)
			.mapToObj((i) -> new OutboxRow(TimeOrderedUuid.next(), "topic",
					("key" + i).getBytes(StandardCharsets.UTF_8), new byte[size], List.of(), "id", "a", "1", "b"))
			.toList();
		new TransactionTemplate(new JdbcTransactionManager(this.database.pool()))
			.executeWithoutResult((status) -> this.store.insert(rows));
	}

	private int freeLanes() {
		return this.database.jdbc()
			.queryForList("SELECT lane FROM idempotency_outbox_lane FOR UPDATE SKIP LOCKED")
			.size();
	}

	@Test
	void claimOfOneMessageLocksOneLane() {
		send(MESSAGES, 1);
		try (OutboxStore.Claim claim = this.store.claim(1, Set.of())) {
			assertThat(claim.rows()).hasSize(1);
			assertThat(freeLanes()).isEqualTo(OutboxSql.LANES - 1);
		}
		assertThat(freeLanes()).isEqualTo(OutboxSql.LANES);
	}

	@Test
	void connectionWithAnOpenTransactionIsUsable() {
		send(1, 1);
		HikariConfig config = new HikariConfig();
		this.database.pool().copyStateTo(config);
		config.setMaximumPoolSize(1);
		config.addDataSourceProperty("options", "-c default_transaction_isolation=serializable");
		config.setAutoCommit(false);
		config.setConnectionInitSql("SELECT 1");
		try (HikariDataSource pool = new HikariDataSource(config)) {
			JdbcOutboxStore relay = new JdbcOutboxStore(pool, new JdbcTransactionManager(pool), TABLE,
					Duration.ofSeconds(2), Duration.ofHours(1), false);
			pool.getHikariPoolMXBean().softEvictConnections();
			try (OutboxStore.Claim claim = relay.claim(1, Set.of())) {
				assertThat(claim.rows()).hasSize(1);
			}
		}
	}

	@Test
	void claimLeavesLanesForOtherRelays() {
		send(MESSAGES, 1);
		try (OutboxStore.Claim claim = this.store.claim(MESSAGES, Set.of());
				OutboxStore.Claim other = this.store.claim(MESSAGES, Set.of())) {
			assertThat(claim.rows()).isNotEmpty();
			assertThat(other.rows()).isNotEmpty();
		}
	}

	@Test
	void largeMessagesAreClaimedInPortions() {
		send(40, MEGABYTE);
		try (OutboxStore.Claim claim = this.store.claim(MESSAGES, Set.of())) {
			assertThat(claim.rows()).hasSizeBetween(10, 17);
		}
	}

	@Test
	void messageThatIsLargerThanAPortionIsClaimedAlone() {
		send(2, 20 * MEGABYTE);
		try (OutboxStore.Claim claim = this.store.claim(MESSAGES, Set.of())) {
			assertThat(claim.rows()).hasSize(1);
		}
	}

	@Test
	void largeMessagesAreClaimedInPortionsWhenATopicIsLeftOut() {
		send(40, MEGABYTE);
		try (OutboxStore.Claim claim = this.store.claim(MESSAGES, Set.of("other"))) {
			assertThat(claim.rows()).hasSizeBetween(10, 17);
		}
	}

	// Otherwise a host that is frozen in a round would keep its lanes, depending on
	// the settings of the server.
	@Test
	void claimHasItsOwnIdleTimeout() throws SQLException {
		send(1, 1);
		try (Connection only = this.database.pool().getConnection()) {
			JdbcTemplate jdbc = new JdbcTemplate(new SingleConnectionDataSource(only, true));
			jdbc.execute("SET idle_in_transaction_session_timeout = 0");
			try (OutboxStore.Claim claim = sharing(only).claim(1, Set.of())) {
				assertThat(claim.rows()).hasSize(1);
				assertThat(setting(jdbc, "idle_in_transaction_session_timeout")).isEqualTo("3min");
			}
			assertThat(setting(jdbc, "idle_in_transaction_session_timeout")).isEqualTo("0");
		}
	}

	@Test
	void connectionIsRestoredWhenTheClaimFails() throws SQLException {
		this.database.jdbc().execute("DROP TABLE idempotency_outbox_lane");
		try (Connection only = this.database.pool().getConnection()) {
			only.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
			int limit = only.getNetworkTimeout();
			JdbcOutboxStore sharing = sharing(only);
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
				.isThrownBy(() -> sharing.claim(1, Set.of()));
			assertThat(only.getTransactionIsolation()).isEqualTo(Connection.TRANSACTION_REPEATABLE_READ);
			assertThat(only.getNetworkTimeout()).isEqualTo(limit);
			assertThat(only.getAutoCommit()).isTrue();
		}
	}

	// The server may be gone or frozen since the last use of the connection.
	@Test
	void everyStatementOfAClaimHasATimeout() throws SQLException {
		send(1, 1);
		try (Connection only = this.database.pool().getConnection()) {
			only.setAutoCommit(false);
			WatchedConnection watched = new WatchedConnection(only);
			try (OutboxStore.Claim claim = sharing(watched.proxy()).claim(1, Set.of())) {
				assertThat(claim.rows()).hasSize(1);
				claim.settle(claim.rows(), List.of());
			}
			assertThat(watched.unlimited()).contains("setNetworkTimeout")
				.doesNotContain("getTransactionIsolation", "commit", "rollback", "prepareStatement");
		}
	}

	// Behind a pooler, the next transaction of the session may belong to
	// another client.
	@Test
	void isolationIsSetForTheTransactionOnly() throws SQLException {
		send(1, 1);
		try (Connection only = this.database.pool().getConnection()) {
			JdbcTemplate jdbc = new JdbcTemplate(new SingleConnectionDataSource(only, true));
			jdbc.execute("SET default_transaction_isolation = 'repeatable read'");
			try (OutboxStore.Claim claim = sharing(only).claim(1, Set.of())) {
				assertThat(claim.rows()).hasSize(1);
				assertThat(setting(jdbc, "transaction_isolation")).isEqualTo("read committed");
				assertThat(setting(jdbc, "default_transaction_isolation")).isEqualTo("repeatable read");
			}
			assertThat(setting(jdbc, "transaction_isolation")).isEqualTo("repeatable read");
		}
	}

	private static String setting(JdbcTemplate jdbc, String name) {
		return jdbc.queryForObject("SELECT current_setting(?)", String.class, name);
	}

	@Test
	void connectionIsReturnedAfterAnError() throws SQLException {
		send(1, 1);
		try (Connection only = this.database.pool().getConnection()) {
			WatchedConnection watched = new WatchedConnection(only);
			watched.failAt("createArrayOf", new OutOfMemoryError("As if"));
			JdbcOutboxStore sharing = sharing(watched.proxy());
			assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> sharing.claim(1, Set.of()));
			assertThat(only.getAutoCommit()).isTrue();
			assertThat(only.getNetworkTimeout()).isZero();
			assertThat(freeLanes()).isEqualTo(OutboxSql.LANES);
		}
	}

	private static JdbcOutboxStore sharing(Connection only) {
		DataSource dataSource = new SingleConnectionDataSource(only, true);
		return new JdbcOutboxStore(dataSource, new JdbcTransactionManager(dataSource), TABLE, Duration.ofSeconds(2),
				Duration.ofHours(1), false);
	}

}
