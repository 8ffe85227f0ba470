/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.outbox.Outbox;
import dev.idempotency.outbox.OutboxMessage;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.StoppableKafka;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the order of messages whose broker is killed or freezes while many messages
 * with the same key are in flight.
 */
@Tag("storm")
@ResourceLock("storms")
@Tag("promise-1")
@Order(1)
class OutboxOrderTests {

	private static final int ROUNDS = Integer.getInteger("test.kill.rounds", 4);

	private static final int KEYS = 8;

	// Messages of each key in a transaction.
	private static final int PER_TRANSACTION = 50;

	private static final int BACKLOG = 5000;

	private static final String TOPIC = "ordered";

	private static final Duration PATIENCE = Duration.ofMinutes(3);

	private final Random random = new Random();

	private final AtomicBoolean ended = new AtomicBoolean();

	private final String database = Servers.newDatabase();

	private final JdbcTemplate jdbc = Servers.jdbc(this.database);

	// PipelineTests kill and freeze the broker once, in each build.
	@Test
	@EnabledIfSystemProperty(named = "test.kill.rounds", matches = ".+", disabledReason = "Part of the profile storm")
	@Timeout(value = 20, unit = TimeUnit.MINUTES)
	void messagesKeepTheirOrderWhenTheBrokerIsKilledOrFreezes() throws Exception {
		try (StoppableKafka kafka = StoppableKafka.create();
				ConfigurableApplicationContext first = start(kafka);
				ConfigurableApplicationContext second = start(kafka);
				Logs logs = Logs.about(" to " + TOPIC + " although an earlier message")) {
			kafka.createTopic(TOPIC, 3);
			ExecutorService threads = Executors.newSingleThreadExecutor();
			Future<Integer> sent = threads.submit(() -> send(first));
			for (int round = 0; round < ROUNDS; round++) {
				awaitMore();
				if (round % 4 == 3) {
					kafka.freeze();
					TimeUnit.MILLISECONDS.sleep(2000 + this.random.nextInt(2000));
					kafka.resume();
				}
				else {
					kafka.stop();
					TimeUnit.MILLISECONDS.sleep(this.random.nextInt(1000));
					kafka.start();
				}
			}
			awaitMore();
			this.ended.set(true);
			int count = sent.get();
			threads.shutdown();
			OutboxStore store = second.getBean(OutboxStore.class);
			Awaitility.await().atMost(PATIENCE).until(() -> store.status().pending() == 0);
			List<ConsumerRecord<String, String>> records = Kafka.readFrom(kafka.bootstrapServers(), TOPIC);
			Set<String> seen = new HashSet<>();
			Map<String, List<Integer>> firsts = records.stream()
				.filter((record) -> seen.add(record.key() + " " + record.value()))
				.collect(Collectors.groupingBy(ConsumerRecord::key,
						Collectors.mapping((record) -> Integer.valueOf(record.value()), Collectors.toList())));
			List<Integer> inOrder = IntStream.range(0, count).boxed().toList();
			assertThat(firsts).hasSize(KEYS).allSatisfy((key, values) -> assertThat(values).isEqualTo(inOrder));
			assertThat(store.deadLetters(10)).isEmpty();
			assertThat(logs.messages("ERROR")).isEmpty();
			System.out.printf("Order: %d interruptions, %d messages with %d keys, %d of them repeated%n", ROUNDS,
					seen.size(), KEYS, records.size() - seen.size());
		}
	}

	private ConfigurableApplicationContext start(StoppableKafka kafka) {
		return TestApp.of()
			.database(this.database)
			.with("idempotency.outbox.enabled", true)
			.with("idempotency.outbox.send-timeout", "2s")
			.with("idempotency.outbox.max-back-off", "500ms")
			// Runs with many requests.
			.with("spring.kafka.producer.properties.batch.size", 2000)
			.with("spring.kafka.bootstrap-servers", kafka.bootstrapServers())
			.run();
	}

	// The number of messages of each key.
	private int send(ConfigurableApplicationContext app) throws InterruptedException {
		TransactionTemplate transactions = new TransactionTemplate(app.getBean(PlatformTransactionManager.class));
		Outbox outbox = app.getBean(Outbox.class);
		int number = 0;
		while (!this.ended.get()) {
			int start = number;
			transactions.executeWithoutResult((status) -> outbox.send(IntStream.range(0, PER_TRANSACTION * KEYS)
				.mapToObj((i) -> OutboxMessage.to(TOPIC)
					.key("k" + i % KEYS)
					.payload(String.valueOf(start + i / KEYS))
					.build())
				.toList()));
			number += PER_TRANSACTION;
			TimeUnit.MILLISECONDS.sleep(100);
			// A loaded machine publishes a large backlog too slowly.
			while (number * KEYS - published() > BACKLOG && !this.ended.get()) {
				TimeUnit.MILLISECONDS.sleep(50);
			}
		}
		return number;
	}

	// Waits for a random number of published messages.
	private void awaitMore() throws InterruptedException {
		long more = published() + 1 + this.random.nextInt(1000);
		Awaitility.await().atMost(PATIENCE).pollInterval(Duration.ofMillis(5)).until(() -> published() >= more);
		TimeUnit.MILLISECONDS.sleep(this.random.nextInt(150));
	}

	private long published() {
		return this.jdbc.queryForObject("SELECT count(*) FROM idempotency_outbox WHERE published_at IS NOT NULL",
				Long.class);
	}

}
