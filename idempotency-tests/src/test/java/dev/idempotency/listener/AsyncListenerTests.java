/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.support.KafkaHeaders;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.testsupport.DeadLetters;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for asynchronous methods of {@code ProtectedRecordListener}, on a real broker and
 * PostgreSQL.
 */
@Order(3)
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class AsyncListenerTests {

	private static final Duration PATIENCE = Duration.ofSeconds(90);

	private final Map<String, String> topics = new ConcurrentHashMap<>();

	private JdbcTemplate jdbc;

	private ConfigurableApplicationContext context;

	private AsyncListeners listeners;

	@BeforeAll
	void start() {
		String database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(database);
		TestApp app = TestApp.of(AsyncListeners.class, DeadLetters.class)
			.database(database)
			.with("spring.kafka.consumer.properties.max.poll.interval.ms", 4000);
		for (String name : List.of("future", "manual", "mono", "empty", "nothing", "receipt", "monoReceipt",
				"concurrent", "failing", "failingMono", "throwing", "lost")) {
			String topic = Servers.newTopic(name, 4);
			Servers.addTopics(4, topic + "-dead", topic + "-out", topic + "-pending", topic + "-held");
			this.topics.put(name, topic);
			app.with("topic." + name, topic);
		}
		this.context = app.run();
		this.listeners = TestApp.target(this.context, AsyncListeners.class);
		List<String> blocked = List.of("future", "manual", "mono");
		blocked.forEach(this::block);
		// Longer than {@code max.poll.interval.ms}, for all of them together.
		await().pollDelay(Duration.ofSeconds(5)).until(() -> true);
	}

	private void block(String name) {
		String topic = heldTopic(name);
		CrashedOwner.claim(this.jdbc, held(name));
		send(topic, 2, "w-before", "held", "w-behind");
		await().untilAsserted(() -> assertThat(Kafka.lag(topic, topic, 2)).isEqualTo(2));
		send(topic, 0, "w-other");
		await().until(() -> runs(name).contains("w-other"));
	}

	private String heldTopic(String name) {
		return this.topics.get(name) + "-held";
	}

	private static IdempotencyKey held(String name) {
		return IdempotencyKey.of(name, "held");
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@ParameterizedTest
	@ValueSource(strings = { "future", "manual", "mono", "empty" })
	@Tag("promise-1")
	void offsetIsNotCommittedWhileTheResultOfARecordIsPending(String name) {
		String topic = this.topics.get(name) + "-pending";
		String later = "later-" + name;
		send(topic, 0, "before-" + name, later, "behind-" + name);
		await().atMost(PATIENCE).until(() -> runs(name).contains(later));
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(Kafka.lag(topic, topic)).isEqualTo(2));
		await().during(Duration.ofSeconds(1)).until(() -> Kafka.lag(topic, topic) == 2);
		assertThat(state(name, later)).isEqualTo("P");
		this.listeners.signal(later).complete("done");
		assertConsumed(topic);
		assertThat(state(name, later)).isEqualTo("C");
	}

	@ParameterizedTest
	@ValueSource(strings = { "future", "manual", "mono", "empty", "nothing" })
	@Tag("promise-3")
	@Tag("promise-8")
	void duplicatesAreAcknowledged(String name) {
		String topic = this.topics.get(name);
		send(topic, 1, "a", "a", "b", "b", "a");
		assertConsumed(topic);
		assertThat(runs(name)).filteredOn((value) -> value.length() == 1).containsExactly("a", "b");
	}

	@Test
	@Tag("promise-3")
	void copyInTheSamePollIsSkippedAsSoonAsItsOriginalEnds() {
		String topic = this.topics.get("future");
		// In one batch of the producer.
		Stream.of("later-copied", "later-copied")
			.map((value) -> Kafka.sendSoon(Kafka.record(topic, 2, value, value)))
			.toList()
			.forEach((sent) -> assertThat(sent).succeedsWithin(PATIENCE));
		await().atMost(PATIENCE).until(() -> runs("future").contains("later-copied"));
		// Until the copy has paused the partition.
		await().during(Duration.ofMillis(300)).until(() -> Kafka.lag(topic, topic, 2) == 2);
		this.listeners.signal("later-copied").complete("done");
		// Less than the pause for the remaining lease.
		await().atMost(Duration.ofMillis(3500)).until(() -> Kafka.lag(topic, topic, 2) == 0);
		assertThat(runs("future")).filteredOn("later-copied"::equals).hasSize(1);
	}

	@ParameterizedTest
	@ValueSource(strings = { "receipt", "monoReceipt" })
	@Tag("promise-8")
	void duplicateRepliesWithItsOwnCorrelationId(String name) {
		for (String correlation : List.of("first", "second")) {
			ProducerRecord<String, String> record = Kafka.record(this.topics.get(name), 0, "key", "order");
			record.headers().add(KafkaHeaders.CORRELATION_ID, correlation.getBytes(StandardCharsets.UTF_8));
			Kafka.send(record);
			assertConsumed(this.topics.get(name));
		}
		await().atMost(PATIENCE).until(() -> Kafka.read(this.topics.get(name) + "-out").size() == 2);
		List<ConsumerRecord<String, String>> replies = Kafka.read(this.topics.get(name) + "-out");
		String reply = "{\"id\":\"order\",\"number\":1}";
		assertThat(replies).extracting(ConsumerRecord::value).containsExactly(reply, reply);
		assertThat(replies).extracting((record) -> DeadLetters.header(record, KafkaHeaders.CORRELATION_ID))
			.containsExactlyInAnyOrder("first", "second");
	}

	@ParameterizedTest
	@ValueSource(strings = { "future", "manual", "mono" })
	@Tag("promise-1")
	void recordInProgressElsewhereIsBlockedAndKeepsItsPosition(String name) {
		String topic = heldTopic(name);
		assertThat(Kafka.lag(topic, topic, 2)).isEqualTo(2);
		assertThat(runs(name)).doesNotContain("held", "w-behind");
		CrashedOwner.endLease(this.jdbc, held(name));
		assertConsumed(topic);
		assertThat(runs(name)).filteredOn((value) -> List.of("w-before", "held", "w-behind").contains(value))
			.containsExactly("w-before", "held", "w-behind");
	}

	@Test
	@Tag("promise-3")
	void copiesInManyPartitionsHaveOneEffectForEachKey() {
		for (int key = 0; key < 40; key++) {
			for (int partition = 0; partition < 4; partition++) {
				Kafka.send(Kafka.record(this.topics.get("concurrent"), partition, "k" + key, "v" + key));
			}
		}
		assertConsumed(this.topics.get("concurrent"));
		assertThat(this.listeners.runs("concurrent")).hasSize(40).doesNotHaveDuplicates();
	}

	@ParameterizedTest
	@ValueSource(strings = { "failing", "failingMono", "throwing" })
	@Tag("promise-1")
	void failedRecordIsRetriedAndRecovered(String name) {
		send(this.topics.get(name), 0, "fails");
		await().atMost(PATIENCE).until(() -> Kafka.read(this.topics.get(name) + "-dead").size() == 1);
		assertThat(this.listeners.runs(name)).hasSize(6).containsOnly("fails");
		assertThat(state(name, "fails")).isEqualTo("F");
		assertThat(this.jdbc.queryForMap(
				"SELECT attempt, error_type, error_message FROM idempotency_record " + "WHERE scope = ?", name))
			.containsEntry("attempt", 6)
			.containsEntry("error_type", IllegalStateException.class.getName())
			.containsEntry("error_message", "fails fails");
		assertConsumed(this.topics.get(name));
	}

	@Test
	@Tag("promise-4")
	void recordWhoseKeyWasTakenOverIsBlockedUntilTheNewOwnerCompletes() {
		send(this.topics.get("lost"), 0, "later-lost");
		await().atMost(PATIENCE).until(() -> runs("lost").contains("later-lost"));
		this.jdbc.update("UPDATE idempotency_record SET token = gen_random_uuid(), fence = fence + 1, "
				+ "lease_until = clock_timestamp() + interval '3 s' WHERE key = 'later-lost'");
		this.listeners.signal("later-lost").complete("zombie");
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(state("lost", "later-lost")).isEqualTo("C"));
		assertThat(runs("lost")).hasSize(2);
		assertConsumed(this.topics.get("lost"));
	}

	private static void send(String topic, int partition, String... values) {
		for (String value : values) {
			Kafka.send(Kafka.record(topic, partition, value, value));
		}
	}

	private Queue<String> runs(String name) {
		return this.listeners.runs(name);
	}

	private static void assertConsumed(String topic) {
		AsyncCommits.awaitAll(topic);
	}

	private String state(String scope, String key) {
		return this.jdbc.queryForObject("SELECT state FROM idempotency_record WHERE scope = ? AND key = ?",
				String.class, scope, key);
	}

}
