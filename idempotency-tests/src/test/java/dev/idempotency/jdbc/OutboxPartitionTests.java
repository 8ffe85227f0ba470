/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.time.Duration;
import java.util.UUID;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;

import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for an outbox of which the application has made a partitioned table. Two rows of
 * such a table may have the same place, each in its partition.
 */
class OutboxPartitionTests {

	@Test
	@Tag("promise-1")
	void cleanupDeletesNoPendingMessage() {
		try (HikariDataSource pool = Servers.pool(Servers.newDatabase())) {
			JdbcTemplate jdbc = new JdbcTemplate(pool);
			JdbcSchemaMigration.migrateOutbox(pool, pool, "outbox");
			partition(jdbc);
			JdbcSchemaValidation.validateOutbox(pool, "outbox", false, true);
			JdbcOutboxStore store = new JdbcOutboxStore(pool, new JdbcTransactionManager(pool), "outbox",
					Duration.ofSeconds(4), Duration.ofHours(1), false);
			for (int i = 0; i < 10; i++) {
				insert(jdbc, 1, "clock_timestamp() - interval '2 hours'");
				insert(jdbc, 40, "NULL");
			}
			assertThat(store.expired().deleteExpired(100, Duration.ZERO)).isEqualTo(10);
			assertThat(store.status().pending()).isEqualTo(10);
		}
	}

	private static void partition(JdbcTemplate jdbc) {
		jdbc.execute("ALTER TABLE outbox RENAME TO outbox_before");
		jdbc.execute("CREATE SEQUENCE outbox_order");
		jdbc.execute("CREATE TABLE outbox (LIKE outbox_before INCLUDING DEFAULTS, PRIMARY KEY (id, lane)) "
				+ "PARTITION BY RANGE (lane)");
		jdbc.execute("ALTER TABLE outbox ALTER position SET DEFAULT nextval('outbox_order')");
		jdbc.execute("CREATE TABLE outbox_low PARTITION OF outbox FOR VALUES FROM (0) TO (32)");
		jdbc.execute("CREATE TABLE outbox_high PARTITION OF outbox FOR VALUES FROM (32) TO (64)");
	}

	private static void insert(JdbcTemplate jdbc, int lane, String publishedAt) {
		jdbc.update(
				"INSERT INTO outbox (id, lane, aggregatetype, aggregateid, type, topic, idempotency_key, "
						+ "published_at) VALUES (?, ?, 'a', 'a', 'a', 'a', 'a', " + publishedAt + ")",
				UUID.randomUUID(), lane);
	}

}
