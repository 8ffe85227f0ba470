/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.RecordedProducers;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.StoppableKafka;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for messages with the same key that are in flight together.
 */
@Order(3)
@Tag("promise-1")
class PipelineTests {

	private static final int MESSAGES = 3000;

	// Enough messages for an interruption before the last one is published.
	private static final int PART = 2000;

	private static final int KEYS = 3;

	private static final String LARGE = "x".repeat(10_000);

	private static List<Integer> numbers(int count) {
		return IntStream.range(0, count).boxed().toList();
	}

	private static OutboxMessage message(String topic, String key, int number, String payload) {
		return OutboxMessage.to(topic).key(key).payload(payload).idempotencyKey(key + " " + number).build();
	}

	private static void send(OutboxApp app, String topic, int keys, int count) {
		app.inTransaction(() -> app.outbox()
			.send(IntStream.range(0, count)
				.mapToObj((i) -> message(topic, "k" + i % keys, i / keys, String.valueOf(i / keys)))
				.toList()));
	}

	private static void awaitDrained(OutboxApp app) {
		Awaitility.await().untilAsserted(() -> assertThat(app.store().status().pending()).isZero());
	}

	// The first publication of each message.
	private static Map<String, List<Integer>> firsts(List<ConsumerRecord<String, String>> records) {
		return firsts(records, Integer::valueOf);
	}

	private static <T> Map<String, List<T>> firsts(List<ConsumerRecord<String, String>> records,
			Function<String, T> convert) {
		HashSet<String> seen = new HashSet<>();
		return records.stream()
			.filter((record) -> seen.add(record.key() + " " + record.value()))
			.collect(Collectors.groupingBy(ConsumerRecord::key,
					Collectors.mapping((record) -> convert.apply(record.value()), Collectors.toList())));
	}

	@Test
	void messagesWithOneKeyShareRequestsAndKeepTheirOrder() {
		String topic = Servers.newTopic("hot", 4);
		try (OutboxApp app = OutboxApp.start((settings) -> {
		}, RecordedProducers.class)) {
			send(app, topic, 1, MESSAGES);
			awaitDrained(app);
			assertThat(Kafka.read(topic)).extracting((record) -> Integer.valueOf(record.value()))
				.isEqualTo(numbers(MESSAGES));
			assertThat(requests(app.context().getBean(RecordedProducers.class))).isBetween(1, MESSAGES / 20);
		}
	}

	private static int requests(RecordedProducers producers) {
		return producers.opened()
			.stream()
			.flatMap((producer) -> producer.metrics().entrySet().stream())
			.filter((entry) -> entry.getKey().name().equals("request-total")
					&& entry.getKey().group().equals("producer-metrics"))
			.mapToInt((entry) -> ((Number) entry.getValue().metricValue()).intValue())
			.sum();
	}

	// Other tests in this JVM report one on purpose.
	private static String lostOrder(String topic) {
		return " to " + topic + " although an earlier message";
	}

	@ParameterizedTest
	@ValueSource(strings = { "block-key", "skip" })
	void noMessageBehindARefusedOneIsSentBeforeTheRefusedOneIsADeadLetter(String onDeadLetter) {
		String topic = Servers.unique("refused-");
		Servers.addTopics(new NewTopic(topic, 1, (short) 1).configs(Map.of("max.message.bytes", "2000")));
		int half = 300;
		try (OutboxApp app = OutboxApp
			.start((settings) -> settings.with("idempotency.outbox.on-dead-letter", onDeadLetter)
				.with("idempotency.outbox.send-timeout", Kafka.splitsWithoutEnd() ? "5s" : "20s")
				.with("idempotency.outbox.max-attempts", 3)); Logs logs = Logs.about(lostOrder(topic))) {
			List<OutboxMessage> messages = new ArrayList<>();
			for (int i = 0; i < 2 * half; i++) {
				messages.add(message(topic, "a", i, (i != half) ? String.valueOf(i) : LARGE));
				messages.add(message(topic, "b", i, String.valueOf(i)));
			}
			app.inTransaction(() -> app.outbox().send(messages));
			Awaitility.await().until(() -> app.events().contains("DEAD_LETTER a " + half));
			Awaitility.await().until(() -> app.events().contains("PUBLISHED b " + (2 * half - 1)));
			if (onDeadLetter.equals("block-key")) {
				Awaitility.await().untilAsserted(() -> assertThat(app.store().status().blocked()).isEqualTo(half - 1));
				assertThat(firsts(Kafka.read(topic)).get("a")).isEqualTo(numbers(half));
				app.store().discard(topic, 1);
			}
			awaitDrained(app);
			Awaitility.await().until(() -> app.events().contains("PUBLISHED a " + (2 * half - 1)));
			List<String> events = List.copyOf(app.events());
			assertThat(events)
				.filteredOn((event) -> !event.startsWith("PUBLISHED")
						&& !(event.startsWith("UNAVAILABLE") && Kafka.splitsWithoutEnd()))
				.containsExactly("REFUSED a " + half, "REFUSED a " + half, "DEAD_LETTER a " + half);
			List<Integer> behind = numbers(2 * half).stream().filter((i) -> i != half).toList();
			assertThat(events.stream().filter((event) -> event.startsWith("PUBLISHED a")).toList())
				.isEqualTo(behind.stream().map((i) -> "PUBLISHED a " + i).toList());
			assertThat(events.indexOf("DEAD_LETTER a " + half)).isLessThan(events.indexOf("PUBLISHED a " + (half + 1)));
			assertThat(firsts(Kafka.read(topic))).containsEntry("a", behind).containsEntry("b", numbers(2 * half));
			// The broker has one request at a time, so that none is in flight when the
			// round is abandoned.
			assertThat(Kafka.read(topic)).hasSize(4 * half - 1);
			assertThat(attempts(app, topic)).isZero();
			assertThat(logs.messages("ERROR")).isEmpty();
		}
	}

	private static int attempts(OutboxApp app, String topic) {
		return app.jdbc()
			.queryForObject("SELECT count(*) FROM idempotency_outbox WHERE topic = ? AND attempts > 0 "
					+ "AND dead_letter_at IS NULL", Integer.class, topic);
	}

	@Test
	void messageThatTheProducerRefusesStopsThoseBehindIt() {
		String topic = Servers.newTopic("refused", 1);
		try (OutboxApp app = OutboxApp
			.start((settings) -> settings.with("spring.kafka.producer.properties.max.request.size", 2000)
				.with("idempotency.outbox.max-attempts", 2))) {
			app.inTransaction(() -> app.outbox()
				.send(IntStream.range(0, 100)
					.mapToObj((i) -> message(topic, "a", i, (i != 50) ? String.valueOf(i) : LARGE))
					.toList()));
			Awaitility.await().until(() -> app.events().contains("DEAD_LETTER a 50"));
			Awaitility.await().untilAsserted(() -> assertThat(app.store().status().blocked()).isEqualTo(49));
			assertThat(Kafka.read(topic)).extracting((record) -> Integer.valueOf(record.value()))
				.isEqualTo(numbers(50));
		}
	}

	@Test
	void timeOutAndKillOfTheBrokerWithinARunLoseNothingAndKeepTheOrder() {
		String input = Servers.newTopic("input", 1);
		try (StoppableKafka kafka = brokerWith(Relayed.TOPIC);
				OutboxApp app = OutboxApp.start((settings) -> settings.with("idempotency.outbox.send-timeout", "2s")
					.with("idempotency.outbox.max-back-off", "500ms")
					.with("idempotency.outbox.batch-size", 5000)
					.with("input", input)
					.with("output", kafka.bootstrapServers())
					.with("spring.kafka.producer.properties.batch.size", 1000)
					.with("spring.kafka.producer.bootstrap-servers", kafka.bootstrapServers()), Relayed.class);
				Logs logs = Logs.about(lostOrder(Relayed.TOPIC))) {
			interrupt(kafka, app, "frozen", () -> {
				kafka.freeze();
				Awaitility.await()
					.until(() -> app.events().stream().anyMatch((event) -> event.startsWith("UNAVAILABLE")));
				sendDuringTheOutage(app, input, "frozen");
			}, kafka::resume);
			interrupt(kafka, app, "killed", () -> {
				kafka.stop();
				sendDuringTheOutage(app, input, "killed");
			}, kafka::start);
			List<String> values = List.of("frozen 1", "frozen 2", "frozen 3", "killed 1", "killed 2", "killed 3");
			Relayed relayed = TestApp.target(app.context(), Relayed.class);
			Awaitility.await().untilAsserted(() -> assertThat(relayed.received).containsExactlyElementsOf(values));
			assertThat(firsts(Kafka.readFrom(kafka.bootstrapServers(), Relayed.TOPIC), (value) -> value).get("key"))
				.isEqualTo(values);
			assertThat(relayed.received).containsExactlyElementsOf(values);
			assertThat(app.store().deadLetters(10)).isEmpty();
			assertThat(logs.messages("ERROR")).isEmpty();
		}
	}

	private static StoppableKafka brokerWith(String topic) {
		StoppableKafka kafka = StoppableKafka.create();
		kafka.createTopic(topic, 1);
		return kafka;
	}

	// The handlers continue, so that the messages are in the outbox.
	private static void sendDuringTheOutage(OutboxApp app, String input, String outage) {
		for (int i = 1; i <= 3; i++) {
			Kafka.send(input, outage + " " + i, outage + " " + i);
		}
		Awaitility.await()
			.until(() -> app.jdbc()
				.queryForObject("SELECT count(*) FROM idempotency_outbox WHERE topic = ? AND published_at IS NULL",
						Integer.class, Relayed.TOPIC) == 3);
	}

	private static void interrupt(StoppableKafka kafka, OutboxApp app, String topic, Runnable begin, Runnable end) {
		kafka.createTopic(topic, 2);
		// The first message of each key only connects the producer.
		send(app, topic, KEYS, KEYS);
		awaitDrained(app);
		send(app, topic, KEYS, KEYS * PART);
		awaitRecords(kafka, topic, PART / 5);
		begin.run();
		assertThat(app.store().status().pending()).isPositive();
		end.run();
		awaitDrained(app);
		assertThat(firsts(Kafka.readFrom(kafka.bootstrapServers(), topic))).hasSize(KEYS)
			.allSatisfy((key, values) -> assertThat(values).isEqualTo(numbers(PART)));
	}

	// Reading the records would take longer than publishing all of them.
	private static void awaitRecords(StoppableKafka kafka, String topic, int count) {
		TopicPartition first = new TopicPartition(topic, 0);
		TopicPartition second = new TopicPartition(topic, 1);
		try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
			Awaitility.await().pollInterval(Duration.ofMillis(1)).until(() -> {
				ListOffsetsResult ends = admin
					.listOffsets(Map.of(first, OffsetSpec.latest(), second, OffsetSpec.latest()));
				return ends.partitionResult(first).get().offset() + ends.partitionResult(second).get().offset() > count;
			});
		}
	}

	@Test
	void stopPublishesARunOnceAndInOrder() {
		String topic = Servers.newTopic("stopped", 1);
		String database = Servers.newDatabase();
		try (OutboxApp app = OutboxApp
			.start((settings) -> settings.database(database).with("idempotency.outbox.stop-timeout", "2m"))) {
			send(app, topic, 1, MESSAGES);
		}
		assertThat(Kafka.read(topic)).extracting((record) -> Integer.valueOf(record.value()))
			.isEqualTo(numbers(MESSAGES));
		assertThat(Servers.jdbc(database)
			.queryForObject("SELECT count(*) FROM idempotency_outbox WHERE published_at IS NULL", Integer.class))
			.isZero();
	}

	@Test
	void anotherRelayContinuesARunWhoseSessionIsLost() {
		String topic = Servers.newTopic("taken", 1);
		String database = Servers.newDatabase();
		try (OutboxApp first = OutboxApp.start((settings) -> settings.database(database));
				OutboxApp second = OutboxApp.start((settings) -> settings.database(database));
				Logs logs = Logs.about(lostOrder(topic))) {
			int lost = 0;
			int parts = 0;
			int size = PART / 4;
			while (parts < 10 || (lost == 0 && parts < 50)) {
				int start = size * parts++;
				first.inTransaction(() -> first.outbox()
					.send(IntStream.range(start, start + size)
						.mapToObj((number) -> message(topic, "a", number, String.valueOf(number)))
						.toList()));
				// Sessions that hold lanes.
				lost += second.jdbc()
					.queryForList("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = "
							+ "'idle in transaction' AND pid <> pg_backend_pid() AND datname = current_database()")
					.size();
			}
			awaitDrained(first);
			// Otherwise the test has shown nothing.
			assertThat(lost).as("lost sessions").isPositive();
			assertThat(firsts(Kafka.read(topic))).containsEntry("a", numbers(parts * size));
			assertThat(logs.messages("ERROR")).isEmpty();
		}
	}

	/**
	 * A listener sends the records of a broker to the outbox, and another one receives
	 * them from the broker that is interrupted.
	 */
	static class Relayed {

		static final String TOPIC = "relayed";

		private final Queue<String> received = new ConcurrentLinkedQueue<>();

		private final Outbox outbox;

		Relayed(Outbox outbox) {
			this.outbox = outbox;
		}

		@Idempotent
		@KafkaListener(topics = "${input}", groupId = "${input}")
		void send(String value) {
			this.outbox.send(TOPIC, "key", value);
		}

		@Idempotent
		@KafkaListener(topics = TOPIC, groupId = TOPIC, properties = "bootstrap.servers=${output}")
		void receive(String value) {
			this.received.add(value);
		}

	}

}
