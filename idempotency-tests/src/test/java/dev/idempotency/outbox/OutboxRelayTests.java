/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.nio.charset.StandardCharsets;
import java.sql.Timestamp;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for relays, of which several share an outbox.
 */
@Order(3)
class OutboxRelayTests {

	private static final int ACCOUNTS = 40;

	private static final int MESSAGES = 2000;

	private static final int THREADS = 8;

	private final String topic = Servers.newTopic("relayed", 4);

	private final String database = Servers.newDatabase();

	private OutboxApp start(String relay, String pollInterval) {
		return OutboxApp.start((app) -> app.database(this.database)
			.with("idempotency.outbox.relay", relay)
			.with("idempotency.outbox.batch-size", 50)
			// Enough for a backlog on a slow machine.
			.with("idempotency.outbox.stop-timeout", "2m")
			.with("idempotency.outbox.poll-interval", pollInterval));
	}

	private static void awaitDrained(OutboxApp app) {
		Awaitility.await()
			.atMost(Duration.ofMinutes(2))
			.untilAsserted(() -> assertThat(app.store().status().pending()).isZero());
	}

	@Test
	void twoRelaysPublishNothingTwiceAndKeepTheOrderOfEachKey() throws Exception {
		try (OutboxApp first = start("embedded", "100ms"); OutboxApp second = start("embedded", "100ms")) {
			first.jdbc().execute("CREATE TABLE account (number text PRIMARY KEY, entries bigint NOT NULL)");
			IntStream.range(0, ACCOUNTS)
				.forEach((i) -> first.jdbc().update("INSERT INTO account VALUES (?, 0)", "a" + i));
			ExecutorService threads = Executors.newFixedThreadPool(THREADS);
			List<Future<?>> sent = new ArrayList<>();
			for (int i = 0; i < MESSAGES; i++) {
				String account = "a" + (i * 7 % ACCOUNTS);
				OutboxApp app = (i % 2 == 0) ? first : second;
				sent.add(threads.submit(() -> app.inTransaction(() -> enter(app, account))));
			}
			for (Future<?> one : sent) {
				one.get();
			}
			threads.shutdown();
			awaitDrained(first);
			List<ConsumerRecord<String, String>> records = Kafka.read(this.topic);
			assertThat(records).hasSize(MESSAGES);
			Map<String, List<String>> byAccount = records.stream()
				.collect(Collectors.groupingBy(ConsumerRecord::key,
						Collectors.mapping(ConsumerRecord::value, Collectors.toList())));
			List<String> inOrder = IntStream.rangeClosed(1, MESSAGES / ACCOUNTS).mapToObj(String::valueOf).toList();
			assertThat(byAccount).hasSize(ACCOUNTS)
				.allSatisfy((account, values) -> assertThat(values).isEqualTo(inOrder));
			// Listeners are notified after a message has left the outbox.
			Awaitility.await()
				.untilAsserted(() -> assertThat(first.events().size() + second.events().size()).isEqualTo(MESSAGES));
			assertThat(first.events()).isNotEmpty().allMatch((event) -> event.startsWith("PUBLISHED"));
			assertThat(second.events()).isNotEmpty().allMatch((event) -> event.startsWith("PUBLISHED"));
		}
	}

	private void enter(OutboxApp app, String account) {
		Long entry = app.jdbc()
			.queryForObject("UPDATE account SET entries = entries + 1 WHERE number = ? RETURNING entries", Long.class,
					account);
		app.outbox().send(this.topic, account, String.valueOf(entry));
	}

	// A listener with the same configuration reads only this header.
	@Test
	@Tag("promise-3")
	void keyIsInTheConfiguredHeaderOfListeners() {
		try (OutboxApp app = OutboxApp
			.start((settings) -> settings.with("idempotency.key.headers", "ce_source+ce_id,X-Request-Id"))) {
			app.inTransaction(() -> app.outbox()
				.send(OutboxMessage.to(this.topic)
					.payload("x")
					.idempotencyKey("mine")
					.header("X-Request-Id", "of the consumed record")
					.build()));
			Awaitility.await().untilAsserted(() -> assertThat(Kafka.read(this.topic)).hasSize(1));
			assertThat(Kafka.read(this.topic).get(0).headers().headers("X-Request-Id")).singleElement()
				.extracting((header) -> new String(header.value(), StandardCharsets.UTF_8))
				.isEqualTo("mine");
		}
	}

	@Test
	void commitWakesTheRelayOfItsInstance() {
		try (OutboxApp app = start("embedded", "10m")) {
			for (int i = 1; i <= 3; i++) {
				app.send(this.topic, "a", "x");
				int published = i;
				Awaitility.await().untilAsserted(() -> assertThat(Kafka.read(this.topic)).hasSize(published));
			}
		}
	}

	@Test
	void commitWakesTheRelayOfAnotherInstance() {
		try (OutboxApp relay = start("embedded", "10m"); OutboxApp sender = start("none", "10m")) {
			for (int i = 1; i <= 3; i++) {
				sender.send(this.topic, "a", "x");
				int published = i;
				Awaitility.await().untilAsserted(() -> assertThat(Kafka.read(this.topic)).hasSize(published));
			}
			Awaitility.await().untilAsserted(() -> assertThat(relay.events()).hasSize(3));
			assertThat(sender.events()).isEmpty();
		}
	}

	@Test
	void relayPublishesMessagesThatWereSentBeforeItsStart() {
		try (OutboxApp sender = start("none", "1s")) {
			sender.send(this.topic, "a", "x");
		}
		try (OutboxApp relay = start("embedded", "1s")) {
			awaitDrained(relay);
			assertThat(Kafka.read(this.topic)).hasSize(1);
		}
	}

	@Test
	@Tag("promise-1")
	void stopUnderLoadPublishesEarlierMessagesOnce() throws Exception {
		ExecutorService threads = Executors.newFixedThreadPool(2);
		OutboxApp app = start("embedded", "1s");
		Timestamp stop;
		try (app) {
			for (int i = 0; i < 2; i++) {
				threads.submit(() -> IntStream.range(0, 500).forEach((j) -> app.send(this.topic, "b" + j, "x")));
			}
			sendMany(app, 1500);
			stop = app.jdbc().queryForObject("SELECT clock_timestamp()", Timestamp.class);
		}
		threads.shutdown();
		assertThat(threads.awaitTermination(1, TimeUnit.MINUTES)).isTrue();
		JdbcTemplate jdbc = Servers.jdbc(this.database);
		assertThat(jdbc.queryForObject(
				"SELECT count(*) FROM idempotency_outbox WHERE published_at IS NULL AND created_at < ?", Long.class,
				stop))
			.isZero();
		try (OutboxApp next = start("embedded", "1s")) {
			awaitDrained(next);
			assertThat(Kafka.read(this.topic)).extracting(OutboxRelayTests::idempotencyKey)
				.containsExactlyInAnyOrderElementsOf(
						jdbc.queryForList("SELECT idempotency_key FROM idempotency_outbox", String.class));
		}
	}

	private static String idempotencyKey(ConsumerRecord<String, String> record) {
		return new String(record.headers().lastHeader("Idempotency-Key").value(), StandardCharsets.UTF_8);
	}

	private void sendMany(OutboxApp app, int count) {
		app.inTransaction(() -> app.outbox()
			.send(IntStream.range(0, count)
				.mapToObj((i) -> OutboxMessage.to(this.topic).key("a" + i % ACCOUNTS).payload("x").build())
				.toList()));
	}

	@Test
	void messageOfAHandlerThatEndsDuringTheStopIsPublished() {
		String input = Servers.newTopic("last", 1);
		try (OutboxApp app = OutboxApp.start((settings) -> settings.database(this.database)
			.with("idempotency.outbox.stop-timeout", "2m")
			.with("input", input)
			.with("output", this.topic), EndsDuringTheStop.class)) {
			Kafka.send(input, "a", "last");
			TestApp.target(app.context(), EndsDuringTheStop.class).awaitBegun();
		}
		assertThat(Kafka.read(this.topic)).extracting(ConsumerRecord::value).containsExactly("last");
	}

	@Test
	void backlogOfAStoppedApplicationIsPublishedOnce() {
		try (OutboxApp app = OutboxApp.start((settings) -> settings.database(this.database)
			.with("idempotency.outbox.batch-size", 50)
			.with("idempotency.outbox.stop-timeout", "0s"))) {
			app.inTransaction(() -> app.outbox()
				.send(IntStream.range(0, MESSAGES)
					.mapToObj((i) -> OutboxMessage.to(this.topic).key("a" + i).payload("x").build())
					.toList()));
		}
		try (OutboxApp next = start("embedded", "1s")) {
			awaitDrained(next);
			assertThat(Kafka.read(this.topic)).hasSize(MESSAGES);
		}
	}

	/**
	 * Sends a message after the application has begun to stop.
	 */
	static class EndsDuringTheStop {

		private final CountDownLatch begun = new CountDownLatch(1);

		private final CountDownLatch stopping = new CountDownLatch(1);

		private final Outbox outbox;

		@Value("${output}")
		private String output;

		EndsDuringTheStop(Outbox outbox) {
			this.outbox = outbox;
		}

		void awaitBegun() {
			Awaitility.await().until(() -> this.begun.getCount() == 0);
		}

		@EventListener
		void stopping(ContextClosedEvent event) {
			this.stopping.countDown();
		}

		@KafkaListener(id = "last", topics = "${input}")
		@Idempotent
		void handle(String value) throws InterruptedException {
			this.begun.countDown();
			this.stopping.await();
			this.outbox.send(this.output, "a", value);
		}

	}

}
