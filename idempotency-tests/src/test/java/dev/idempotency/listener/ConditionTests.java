/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Import;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the condition of {@link Idempotent}.
 */
class ConditionTests {

	@ParameterizedTest
	@EnumSource(names = { "TRANSACTIONAL", "LEASED" })
	@Tag("promise-3")
	void excludedRecordsDoNotCallTheStore(Mode mode) {
		String topic = Servers.newTopic("condition", 1);
		for (int i = 0; i < 3; i++) {
			Kafka.send(topic, "excluded", "excluded");
		}
		try (ConfigurableApplicationContext context = TestApp.of(Listener.class)
			.with("topic", topic)
			.with("idempotency.mode", mode)
			.run()) {
			RecordingObserver told = context.getBean(RecordingObserver.class);
			awaitHandled(topic);
			assertThat(TestApp.target(context, Listener.class).seen).hasSize(3);
			assertThat(told.storeCalls()).isEmpty();
			assertThat(told.executions()).isEmpty();
			Kafka.send(topic, "included", "included");
			Kafka.send(topic, "included", "included");
			awaitHandled(topic);
			assertThat(TestApp.target(context, Listener.class).seen).hasSize(4);
			assertThat(told.storeCalls()).isNotEmpty();
			assertThat(told.executions()).hasSize(2);
		}
	}

	@ParameterizedTest
	@EnumSource(names = { "TRANSACTIONAL", "LEASED" })
	void excludedRecordsOfABatchAreNotCounted(Mode mode) {
		String topic = Servers.newTopic("condition-batch", 1);
		for (String value : List.of("excluded", "included", "excluded")) {
			Kafka.send(topic, value, value);
		}
		try (ConfigurableApplicationContext context = TestApp.of(BatchListener.class)
			.with("topic", topic)
			.with("idempotency.mode", mode)
			.run()) {
			awaitHandled(topic);
			assertThat(TestApp.target(context, BatchListener.class).seen).hasSize(3);
			assertThat(context.getBean(RecordingObserver.class).executions()).hasSize(1);
		}
	}

	private static void awaitHandled(String topic) {
		await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> assertThat(Kafka.lag(topic, topic)).isZero());
	}

	@Import(RecordingObserver.class)
	static class Listener {

		private final Queue<String> seen = new ConcurrentLinkedQueue<>();

		@Idempotent(condition = "#payload == 'included'")
		@KafkaListener(topics = "${topic}", groupId = "${topic}")
		void listen(String value) {
			this.seen.add(value);
		}

	}

	@Import(RecordingObserver.class)
	static class BatchListener {

		private final Queue<String> seen = new ConcurrentLinkedQueue<>();

		@Idempotent(condition = "#payload == 'included'")
		@KafkaListener(topics = "${topic}", groupId = "${topic}", batch = "true")
		void listen(List<String> values) {
			this.seen.addAll(values);
		}

	}

}
