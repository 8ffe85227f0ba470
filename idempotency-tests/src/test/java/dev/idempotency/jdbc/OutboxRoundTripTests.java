/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import net.ttddyy.dsproxy.support.ProxyDataSourceBuilder;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.outbox.TimeOrderedUuid;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the number of round trips of an outbox to the database.
 */
class OutboxRoundTripTests {

	private static final String TABLE = "idempotency_outbox";

	private static final AtomicInteger TRIPS = new AtomicInteger();

	private static HikariDataSource pool;

	private static JdbcOutboxStore store;

	private static TransactionTemplate transactions;

	@BeforeAll
	static void createDatabase() {
		pool = Servers.pool(Servers.newDatabase());
		JdbcSchemaMigration.migrateOutbox(pool, pool, TABLE);
		// A batch is one round trip.
		DataSource counted = ProxyDataSourceBuilder.create(pool)
			.afterQuery((execution, queries) -> TRIPS.incrementAndGet())
			.build();
		JdbcTransactionManager manager = new JdbcTransactionManager(counted);
		store = new JdbcOutboxStore(counted, manager, TABLE, Duration.ofSeconds(2), Duration.ofHours(1), false);
		transactions = new TransactionTemplate(manager);
	}

	@AfterAll
	static void close() {
		pool.close();
	}

	private static void send(int messages) {
		List<OutboxRow> rows = IntStream.range(0, messages)
			.mapToObj((i) -> new OutboxRow(TimeOrderedUuid.next(), "topic", new byte[] { (byte) i }, new byte[0],
					List.of(), "key" + i, "payment", "1", "charged"))
			.toList();
		transactions.executeWithoutResult((status) -> store.insert(rows));
	}

	private static int trips(Runnable work) {
		int before = TRIPS.get();
		work.run();
		return TRIPS.get() - before;
	}

	@Test
	void insertOfAMessageCostsOneRoundTrip() {
		assertThat(trips(() -> send(1))).isOne();
	}

	@Test
	void insertOfManyMessagesCostsOneRoundTrip() {
		assertThat(trips(() -> send(100))).isOne();
	}

	@Test
	void roundCostsThreeRoundTripsForAnyNumberOfMessages() {
		send(20);
		// A new relay finds its marks before its first round.
		store.claim(1, Set.of()).close();
		assertThat(trips(() -> {
			try (OutboxStore.Claim claim = store.claim(1000, Set.of())) {
				assertThat(claim.rows()).hasSizeGreaterThan(10);
				claim.settle(claim.rows(), List.of());
			}
		})).isEqualTo(3);
	}

}
