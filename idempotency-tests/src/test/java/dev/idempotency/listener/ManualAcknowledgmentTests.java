/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.listener.ListenerExecutionFailedException;
import org.springframework.kafka.listener.ManualAckListenerErrorHandler;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.messaging.Message;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@code Delivery}: an acknowledgment by the method takes effect with its
 * completion.
 */
@Tag("promise-1")
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ManualAcknowledgmentTests {

	private static final Duration PATIENCE = Duration.ofSeconds(90);

	private final String prefix = Servers.unique("manual");

	private JdbcTemplate jdbc;

	private ConfigurableApplicationContext context;

	private Listeners listeners;

	@BeforeAll
	void start() {
		for (String mode : List.of("MANUAL", "MANUAL_IMMEDIATE")) {
			Servers.addTopics(1, topic("leased", mode), topic("transactional", mode), topic("handled", mode));
		}
		String database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(database);
		this.jdbc.execute("CREATE TABLE effect (value text)");
		this.context = TestApp.of(Listeners.class, AckModeTests.Factories.class)
			.database(database)
			.with("prefix", this.prefix)
			.run();
		this.listeners = TestApp.target(this.context, Listeners.class);
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@ParameterizedTest
	@ValueSource(strings = { "leased-MANUAL", "leased-MANUAL_IMMEDIATE", "transactional-MANUAL",
			"transactional-MANUAL_IMMEDIATE" })
	void acknowledgmentHasNoEffectIfTheMethodThenFailsOrNacks(String listener) {
		String topic = this.prefix + "-" + listener;
		for (String value : List.of("throws-" + listener, "nacks-" + listener, "plain-" + listener)) {
			Kafka.send(topic, value, value);
		}
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(Kafka.lag(topic, topic)).isZero());
		assertThat(this.listeners.runs(listener)).containsExactly("throws-" + listener, "throws-" + listener,
				"nacks-" + listener, "nacks-" + listener, "plain-" + listener);
		assertThat(this.listeners.committedTooEarly).isEmpty();
		assertThat(states(topic)).containsOnly("C").hasSize(3);
		// Only a transaction rolls back the effects of the first runs.
		int runs = listener.startsWith("transactional") ? 1 : 2;
		assertThat(effects("throws-" + listener)).isEqualTo(runs);
		assertThat(effects("nacks-" + listener)).isEqualTo(runs);
	}

	@ParameterizedTest
	@ValueSource(strings = { "MANUAL", "MANUAL_IMMEDIATE" })
	void errorHandlerAcknowledgesFailedRecordsAndIsNotCalledForBlockedRecords(String mode) {
		String topic = topic("handled", mode);
		String held = "held-" + mode;
		IdempotencyKey key = IdempotencyKey.of(topic, held);
		CrashedOwner.claim(this.jdbc, key);
		Kafka.send(topic, "broken-" + mode, "broken-" + mode);
		Kafka.send(topic, held, held);
		Queue<String> handled = this.context.getBean(AcknowledgingHandler.class).handled;
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(Kafka.lag(topic, topic)).isOne());
		await().during(Duration.ofSeconds(1)).atMost(PATIENCE).until(() -> Kafka.lag(topic, topic) == 1);
		CrashedOwner.endLease(this.jdbc, key);
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(Kafka.lag(topic, topic)).isZero());
		assertThat(this.listeners.runs("handled-" + mode)).containsExactly("broken-" + mode, held);
		assertThat(states(topic)).containsExactlyInAnyOrder("F", "C");
		assertThat(handled).contains("broken-" + mode).doesNotContain(held);
	}

	private String topic(String name, String mode) {
		return this.prefix + "-" + name + "-" + mode;
	}

	private List<String> states(String scope) {
		return this.jdbc.queryForList("SELECT state FROM idempotency_record WHERE scope = ?", String.class, scope);
	}

	private int effects(String value) {
		return this.jdbc.queryForObject("SELECT count(*) FROM effect WHERE value = ?", Integer.class, value);
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final Map<String, Queue<String>> runs = new ConcurrentHashMap<>();

		private final Queue<String> committedTooEarly = new ConcurrentLinkedQueue<>();

		private final JdbcTemplate jdbc;

		Listeners(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@Bean
		static AcknowledgingHandler acknowledgingHandler() {
			return new AcknowledgingHandler();
		}

		Queue<String> runs(String listener) {
			return this.runs.computeIfAbsent(listener, (name) -> new ConcurrentLinkedQueue<>());
		}

		@Idempotent(mode = Mode.LEASED, scope = "${prefix}-leased-MANUAL")
		@KafkaListener(topics = "${prefix}-leased-MANUAL", groupId = "${prefix}-leased-MANUAL",
				containerFactory = "MANUAL")
		void leased(ConsumerRecord<String, String> record, Acknowledgment acknowledgment) {
			handle("leased-MANUAL", record, acknowledgment);
		}

		@Idempotent(mode = Mode.LEASED, scope = "${prefix}-leased-MANUAL_IMMEDIATE")
		@KafkaListener(topics = "${prefix}-leased-MANUAL_IMMEDIATE", groupId = "${prefix}-leased-MANUAL_IMMEDIATE",
				containerFactory = "MANUAL_IMMEDIATE")
		void leasedImmediate(ConsumerRecord<String, String> record, Acknowledgment acknowledgment) {
			handle("leased-MANUAL_IMMEDIATE", record, acknowledgment);
		}

		@Idempotent(mode = Mode.TRANSACTIONAL, scope = "${prefix}-transactional-MANUAL")
		@KafkaListener(topics = "${prefix}-transactional-MANUAL", groupId = "${prefix}-transactional-MANUAL",
				containerFactory = "MANUAL")
		void transactional(ConsumerRecord<String, String> record, Acknowledgment acknowledgment) {
			handle("transactional-MANUAL", record, acknowledgment);
		}

		@Idempotent(mode = Mode.TRANSACTIONAL, scope = "${prefix}-transactional-MANUAL_IMMEDIATE")
		@KafkaListener(topics = "${prefix}-transactional-MANUAL_IMMEDIATE",
				groupId = "${prefix}-transactional-MANUAL_IMMEDIATE", containerFactory = "MANUAL_IMMEDIATE")
		void transactionalImmediate(ConsumerRecord<String, String> record, Acknowledgment acknowledgment) {
			handle("transactional-MANUAL_IMMEDIATE", record, acknowledgment);
		}

		@Idempotent(scope = "${prefix}-handled-MANUAL")
		@KafkaListener(topics = "${prefix}-handled-MANUAL", groupId = "${prefix}-handled-MANUAL",
				containerFactory = "MANUAL", errorHandler = "acknowledgingHandler")
		void handled(String value, ConsumerRecord<String, String> record, Acknowledgment acknowledgment) {
			handle("handled-MANUAL", record, acknowledgment);
		}

		@Idempotent(scope = "${prefix}-handled-MANUAL_IMMEDIATE")
		@KafkaListener(topics = "${prefix}-handled-MANUAL_IMMEDIATE", groupId = "${prefix}-handled-MANUAL_IMMEDIATE",
				containerFactory = "MANUAL_IMMEDIATE", errorHandler = "acknowledgingHandler")
		void handledImmediate(String value, ConsumerRecord<String, String> record, Acknowledgment acknowledgment) {
			handle("handled-MANUAL_IMMEDIATE", record, acknowledgment);
		}

		private void handle(String listener, ConsumerRecord<String, String> record, Acknowledgment acknowledgment) {
			String value = record.value();
			boolean first = !runs(listener).contains(value);
			runs(listener).add(value);
			if (Kafka.committed(record.topic(), record.topic(), 0) > record.offset()) {
				this.committedTooEarly.add(value);
			}
			this.jdbc.update("INSERT INTO effect VALUES (?)", value);
			if (value.startsWith("nacks") && first) {
				acknowledgment.nack(Duration.ofMillis(100));
				return;
			}
			acknowledgment.acknowledge();
			if (value.startsWith("broken") || (value.startsWith("throws") && first)) {
				throw new IllegalStateException("fails " + value);
			}
		}

	}

	static class AcknowledgingHandler implements ManualAckListenerErrorHandler {

		private final Queue<String> handled = new ConcurrentLinkedQueue<>();

		@Override
		public Object handleError(Message<?> message, ListenerExecutionFailedException exception,
				Consumer<?, ?> consumer, Acknowledgment acknowledgment) {
			this.handled.add((String) message.getPayload());
			acknowledgment.acknowledge();
			return null;
		}

	}

}
