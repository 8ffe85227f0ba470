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
import java.util.concurrent.ConcurrentHashMap;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.springframework.boot.kafka.autoconfigure.ConcurrentKafkaListenerContainerFactoryConfigurer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.core.ProducerFactory;
import org.springframework.kafka.support.KafkaHeaders;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.reconcile.Reconciliation;
import dev.idempotency.reconcile.ReconciliationRequest;
import dev.idempotency.reconcile.ReconciliationStatus;
import dev.idempotency.testsupport.DeadLetters;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@code AsyncResult}: suspending functions of Kotlin.
 */
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SuspendTests {

	private static final Duration PATIENCE = Duration.ofSeconds(90);

	private final Map<String, String> topics = new ConcurrentHashMap<>();

	private JdbcTemplate jdbc;

	private ConfigurableApplicationContext context;

	private SuspendListeners listeners;

	@BeforeAll
	void start() {
		String database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(database);
		TestApp app = TestApp.of(SuspendListeners.class, Factories.class, DeadLetters.class)
			.database(database)
			.with("spring.kafka.consumer.properties.max.poll.interval.ms", 4000);
		for (String name : List.of("unit", "delayed", "reply", "broken")) {
			String topic = Servers.newTopic(name, 4);
			Servers.addTopics(4, topic + "-dead", topic + "-out", topic + "-pending");
			this.topics.put(name, topic);
			app.with("topic." + name, topic);
		}
		this.context = app.run();
		this.listeners = TestApp.target(this.context, SuspendListeners.class);
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@Test
	@Tag("promise-1")
	void offsetIsNotCommittedWhileAFunctionIsSuspended() {
		String topic = this.topics.get("unit") + "-pending";
		for (String value : List.of("before", "later", "behind")) {
			Kafka.send(topic, value, value);
		}
		await().atMost(PATIENCE).until(() -> this.listeners.runs("unit").contains("later"));
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(Kafka.lag(topic, topic)).isEqualTo(2));
		await().during(Duration.ofSeconds(1)).until(() -> Kafka.lag(topic, topic) == 2);
		assertThat(state("unit", "later")).isEqualTo("P");
		this.listeners.signal("later").complete("done");
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(Kafka.lag(topic, topic)).isZero());
		assertThat(state("unit", "later")).isEqualTo("C");
	}

	@Test
	@Tag("promise-3")
	@Tag("promise-8")
	void duplicatesAreAcknowledged() {
		send("unit", 1, "a", "a", "b", "b", "a");
		assertConsumed("unit", 1);
		assertThat(this.listeners.runs("unit")).filteredOn((value) -> value.length() == 1).containsExactly("a", "b");
	}

	@Test
	@Tag("promise-8")
	void keyExpressionUsesParametersByName() {
		String topic = this.topics.get("delayed");
		Kafka.send(topic, "k1", "order");
		Kafka.send(topic, "k2", "order");
		assertConsumed("delayed", 0);
		assertThat(this.listeners.runs("delayed")).containsExactly("order");
		assertThat(state("delayed", "order/" + topic)).isEqualTo("C");
		// A reconciliation resolves the same keys, and does not run the function.
		assertThat(this.context.getBean(Reconciliation.class)
			.run(ReconciliationRequest.of("SuspendListeners.delayed"), (finding) -> {
			}, (progress) -> {
			})
			.counts()).isEqualTo(Map.of(ReconciliationStatus.COMPLETED, 2L));
		assertThat(this.listeners.runs("delayed")).containsExactly("order");
	}

	@Test
	@Tag("promise-8")
	void duplicateRepliesAgainWithItsOwnCorrelationId() {
		for (String correlation : List.of("first", "second")) {
			ProducerRecord<String, String> record = Kafka.record(this.topics.get("reply"), 0, "key", "order");
			record.headers().add(KafkaHeaders.CORRELATION_ID, correlation.getBytes(StandardCharsets.UTF_8));
			Kafka.send(record);
			assertConsumed("reply", 0);
		}
		await().atMost(PATIENCE).until(() -> Kafka.read(this.topics.get("reply") + "-out").size() == 2);
		List<ConsumerRecord<String, String>> replies = Kafka.read(this.topics.get("reply") + "-out");
		String reply = "{\"id\":\"order\",\"number\":1}";
		assertThat(replies).extracting(ConsumerRecord::value).containsExactly(reply, reply);
		assertThat(replies).extracting((record) -> DeadLetters.header(record, KafkaHeaders.CORRELATION_ID))
			.containsExactlyInAnyOrder("first", "second");
	}

	@Test
	@Tag("promise-1")
	void recordThatAnotherConsumerProcessesIsBlockedAndKeepsItsPosition() {
		IdempotencyKey held = IdempotencyKey.of("unit", "held");
		CrashedOwner.claim(this.jdbc, held);
		send("unit", 2, "w-before", "held", "w-behind");
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(lag("unit", 2)).isEqualTo(2));
		send("unit", 3, "w-other");
		await().atMost(PATIENCE).until(() -> this.listeners.runs("unit").contains("w-other"));
		// Longer than the maximum poll interval of the consumer.
		await().during(Duration.ofSeconds(5)).atMost(PATIENCE).until(() -> lag("unit", 2) == 2);
		assertThat(this.listeners.runs("unit")).doesNotContain("held", "w-behind");
		CrashedOwner.endLease(this.jdbc, held);
		assertConsumed("unit", 2);
		assertThat(this.listeners.runs("unit"))
			.filteredOn((value) -> List.of("w-before", "held", "w-behind").contains(value))
			.containsExactly("w-before", "held", "w-behind");
	}

	@Test
	@Tag("promise-1")
	void failureIsRetriedAndHandedToTheRecoverer() {
		send("broken", 0, "fails");
		await().atMost(PATIENCE).until(() -> Kafka.read(this.topics.get("broken") + "-dead").size() == 1);
		assertThat(this.listeners.runs("broken")).hasSize(6);
		assertThat(state("broken", "fails")).isEqualTo("F");
		assertConsumed("broken", 0);
	}

	private void send(String name, int partition, String... values) {
		for (String value : values) {
			Kafka.send(Kafka.record(this.topics.get(name), partition, value, value));
		}
	}

	private void assertConsumed(String name, int partition) {
		AsyncCommits.await(this.topics.get(name), partition);
	}

	private long lag(String name, int partition) {
		return Kafka.lag(this.topics.get(name), this.topics.get(name), partition);
	}

	private String state(String scope, String key) {
		return this.jdbc.queryForObject("SELECT state FROM idempotency_record WHERE scope = ? AND key = ?",
				String.class, scope, key);
	}

	@Configuration(proxyBeanMethods = false)
	static class Factories {

		@Bean
		static ConcurrentKafkaListenerContainerFactory<Object, Object> replyFactory(
				ConcurrentKafkaListenerContainerFactoryConfigurer configurer, ConsumerFactory<Object, Object> consumers,
				ProducerFactory<Object, Object> producers) {
			return AsyncListeners.replyFactory(configurer, consumers, producers);
		}

	}

}
