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
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import javax.sql.DataSource;

import net.ttddyy.dsproxy.support.ProxyDataSourceBuilder;
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
import dev.idempotency.outbox.OutboxStore.ClaimedRow;
import dev.idempotency.outbox.OutboxStore.RelayFailure;
import dev.idempotency.outbox.TimeOrderedUuid;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the locks of an outbox on MariaDB.
 */
class MySqlOutboxTests {

	private static final String TABLE = "idempotency_outbox";

	private static final int KEYS = 100;

	@RegisterExtension
	TestDatabase database = TestDatabase.mariaDb();

	private JdbcOutboxStore store;

	@BeforeEach
	void create() {
		JdbcSchemaMigration.migrateOutbox(this.database.pool(), this.database.pool(), TABLE);
		this.store = new JdbcOutboxStore(this.database.pool(), new JdbcTransactionManager(this.database.pool()), TABLE,
				Duration.ofSeconds(20), Duration.ofHours(1), false);
	}

	private void send(int from, int to) {
		List<OutboxRow> rows = IntStream.range(from, to)
			.mapToObj((i) -> new OutboxRow(TimeOrderedUuid.next(), "topic",
					("key" + i % KEYS).getBytes(StandardCharsets.UTF_8), new byte[1], List.of(), String.valueOf(i), "a",
					"1", "b"))
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
		send(0, 200);
		try (OutboxStore.Claim claim = this.store.claim(1, Set.of())) {
			assertThat(claim.rows()).hasSize(1);
			assertThat(freeLanes()).isEqualTo(OutboxSql.LANES - 1);
		}
		assertThat(freeLanes()).isEqualTo(OutboxSql.LANES);
	}

	@Test
	void claimLeavesLanesForOtherRelays() {
		send(0, 200);
		try (OutboxStore.Claim claim = this.store.claim(200, Set.of());
				OutboxStore.Claim other = this.store.claim(200, Set.of())) {
			assertThat(claim.rows()).isNotEmpty();
			assertThat(other.rows()).isNotEmpty();
		}
	}

	// The limit of a frozen relay in seconds instead of minutes.
	@Test
	void lanesOfAFrozenRelayBecomeFree() {
		send(0, 200);
		DataSource impatient = ProxyDataSourceBuilder.create(this.database.pool())
			.queryTransformer((query) -> query.getQuery().replace("= 180", "= 1"))
			.build();
		JdbcOutboxStore frozen = new JdbcOutboxStore(impatient, new JdbcTransactionManager(impatient), TABLE,
				Duration.ofSeconds(20), Duration.ofHours(1), false);
		try (OutboxStore.Claim claim = frozen.claim(200, Set.of())) {
			assertThat(freeLanes()).isLessThan(OutboxSql.LANES);
			await().untilAsserted(() -> assertThat(freeLanes()).isEqualTo(OutboxSql.LANES));
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
				.isThrownBy(() -> claim.settle(claim.rows(), List.of()));
		}
		try (OutboxStore.Claim claim = this.store.claim(200, Set.of())) {
			assertThat(claim.rows()).isNotEmpty();
		}
		assertThat(this.database.jdbc().queryForObject("SELECT @@SESSION.idle_transaction_timeout", Integer.class))
			.isZero();
	}

	@Test
	void idleTimeOfTheConnectionIsRestored() throws SQLException {
		send(0, 1);
		try (Connection only = this.database.pool().getConnection()) {
			DataSource single = new SingleConnectionDataSource(only, true);
			JdbcTemplate jdbc = new JdbcTemplate(single);
			jdbc.execute("SET SESSION idle_transaction_timeout = 7");
			JdbcOutboxStore relay = new JdbcOutboxStore(single, new JdbcTransactionManager(single), TABLE,
					Duration.ofSeconds(20), Duration.ofHours(1), false);
			try (OutboxStore.Claim claim = relay.claim(1, Set.of())) {
				assertThat(jdbc.queryForObject("SELECT @@SESSION.idle_transaction_timeout", Integer.class))
					.isEqualTo(180);
			}
			assertThat(jdbc.queryForObject("SELECT @@SESSION.idle_transaction_timeout", Integer.class)).isEqualTo(7);
			jdbc.execute("SET SESSION idle_transaction_timeout = 0");
		}
	}

	@Test
	void relaysPublishEachMessageOnceAndEachKeyInItsOrder() throws Exception {
		int messages = 1000;
		Map<String, List<Integer>> published = new ConcurrentHashMap<>();
		ExecutorService relays = Executors.newFixedThreadPool(3);
		List<Future<?>> all = new ArrayList<>();
		send(0, messages / 2);
		for (int relay = 0; relay < 2; relay++) {
			Random random = new Random(relay);
			all.add(relays.submit(() -> {
				while (published.values().stream().mapToInt(List::size).sum() < messages) {
					publish(published, random);
				}
			}));
		}
		send(messages / 2, messages);
		for (Future<?> one : all) {
			one.get(60, TimeUnit.SECONDS);
		}
		relays.shutdown();
		assertThat(published).hasSize(KEYS)
			.allSatisfy((key, ids) -> assertThat(ids).isSorted().doesNotHaveDuplicates());
		assertThat(this.store.status().pending()).isZero();
	}

	// One message in ten is refused at first.
	private void publish(Map<String, List<Integer>> published, Random random) {
		try (OutboxStore.Claim claim = this.store.claim(50, Set.of())) {
			List<ClaimedRow> accepted = new ArrayList<>();
			List<RelayFailure> refused = new ArrayList<>();
			List<String> refusedKeys = new ArrayList<>();
			for (ClaimedRow claimed : claim.rows()) {
				String key = new String(claimed.row().key(), StandardCharsets.UTF_8);
				if (refusedKeys.contains(key)) {
					continue;
				}
				if (random.nextInt(10) == 0) {
					refusedKeys.add(key);
					refused.add(new RelayFailure(claimed, claimed.attempts() + 1, new IllegalStateException("no"),
							Duration.ofMillis(5)));
				}
				else {
					accepted.add(claimed);
				}
			}
			claim.settle(accepted, refused);
			accepted.forEach((claimed) -> published
				.computeIfAbsent(new String(claimed.row().key(), StandardCharsets.UTF_8), (key) -> new ArrayList<>())
				.add(Integer.valueOf(claimed.row().idempotencyKey())));
		}
	}

}
