/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.awaitility.Awaitility;
import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.test.kill.ChildApplication;
import dev.idempotency.test.kill.ProcessGroup;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.StoppableKafka;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Kills the processes of an outbox, and in every second round its broker, under load.
 */
final class OutboxKills implements AutoCloseable {

	private static final int BROKER_EVERY = 2;

	private static final int PROCESSES = 2;

	private static final Duration PATIENCE = Duration.ofMinutes(5);

	private final Random random;

	private final String topic = Servers.unique("payments-");

	private final StoppableKafka kafka;

	private final JdbcTemplate jdbc;

	private final ProcessGroup processes;

	OutboxKills(long seed) {
		this.random = new Random(seed);
		this.kafka = StoppableKafka.create();
		this.kafka.createTopic(this.topic, LedgerTraffic.PARTITIONS);
		this.kafka.createTopic(LedgerApp.charged(this.topic), LedgerTraffic.PARTITIONS);
		String database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(database);
		this.jdbc.execute(LedgerApp.SCHEMA);
		IntStream.range(0, LedgerTraffic.ACCOUNTS)
			.forEach((i) -> this.jdbc.update("INSERT INTO account (number) VALUES (?)", "a" + i));
		ChildApplication application = TestApp.of(LedgerApp.class)
			.database(database)
			.with("topic", this.topic)
			.with("idempotency.outbox.enabled", true)
			.with("spring.kafka.bootstrap-servers", this.kafka.bootstrapServers())
			.with("spring.kafka.listener.concurrency", 2)
			.with("spring.kafka.consumer.max-poll-records", 50)
			.with("spring.kafka.consumer.properties.session.timeout.ms", 3000)
			.with("spring.kafka.consumer.properties.heartbeat.interval.ms", 1000)
			.child()
			.readyWhenOutputContains(LedgerApp.STARTED);
		this.processes = new ProcessGroup(application, this.random);
	}

	@Override
	public void close() {
		this.processes.close();
		this.kafka.close();
	}

	// Throws an assertion error unless every charge is published and applied once, in
	// order.
	Result run(int rounds) throws Exception {
		int payments;
		try (LedgerTraffic traffic = new LedgerTraffic(this.kafka.bootstrapServers(), this.topic, this.random)) {
			for (int round = 0; round < rounds; round++) {
				while (this.processes.running().size() < PROCESSES) {
					this.processes.start();
				}
				awaitMore("charge");
				awaitMore("statement_line");
				if (this.random.nextBoolean()) {
					// All processes have started before the next kill.
					this.processes.awaitReady();
				}
				if (round % BROKER_EVERY == 1) {
					this.kafka.stop();
					this.processes.kill();
					this.kafka.start();
				}
				else {
					this.processes.kill();
				}
			}
			payments = traffic.end();
		}
		this.processes.start();
		return check(rounds, payments);
	}

	// Waits for a random number of new rows.
	private void awaitMore(String table) {
		long more = count(table) + 1 + this.random.nextInt(200);
		Awaitility.await().atMost(PATIENCE).pollInterval(Duration.ofMillis(5)).until(() -> count(table) >= more);
	}

	private long count(String table) {
		return this.jdbc.queryForObject("SELECT count(*) FROM " + table, Long.class);
	}

	private Result check(int rounds, int payments) {
		Awaitility.await().atMost(PATIENCE).until(() -> count("statement_line") >= payments && pending() == 0);
		// Events that were published twice have also been consumed twice.
		String events = LedgerApp.charged(this.topic);
		Awaitility.await()
			.atMost(PATIENCE)
			.until(() -> Kafka.lagAt(this.kafka.bootstrapServers(), this.topic + "-statements", events) == 0);
		List<Entry> charges = rows("SELECT payment, account, entry FROM charge ORDER BY entry");
		assertThat(charges).extracting(Entry::payment).doesNotHaveDuplicates().hasSize(payments);
		// Each charge is applied once, and those of an account are applied in order.
		assertThat(byAccount(rows("SELECT payment, account, entry FROM statement_line ORDER BY line")))
			.isEqualTo(byAccount(charges));
		List<Entry> published = Kafka.readFrom(this.kafka.bootstrapServers(), events)
			.stream()
			.map(ConsumerRecord::value)
			.map(Entry::of)
			.toList();
		// The first publication of each event.
		Set<Entry> once = new LinkedHashSet<>(published);
		assertThat(byAccount(List.copyOf(once))).isEqualTo(byAccount(charges));
		return new Result(rounds, payments, published.size(), published.size() - once.size());
	}

	private long pending() {
		return count("idempotency_outbox WHERE published_at IS NULL");
	}

	private List<Entry> rows(String query) {
		return this.jdbc.query(query, (row, i) -> new Entry(row.getString(1), row.getString(2), row.getLong(3)));
	}

	private static Map<String, List<Entry>> byAccount(List<Entry> charges) {
		return charges.stream().collect(Collectors.groupingBy(Entry::account));
	}

	/**
	 * An entry of an account.
	 *
	 * @param payment the payment
	 * @param account the account
	 * @param entry the number of the entry
	 */
	private record Entry(String payment, String account, long entry) {

		static Entry of(String event) {
			String[] parts = event.split(" ");
			return new Entry(parts[0], parts[1], Long.parseLong(parts[2]));
		}

	}

	/**
	 * The figures of a run.
	 *
	 * @param kills the number of processes that were killed
	 * @param payments the number of payments
	 * @param events the number of events that were published
	 * @param repeated the number of events that were published again
	 */
	record Result(int kills, int payments, int events, int repeated) {

	}

}
