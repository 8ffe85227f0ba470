/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.kafka.annotation.DltHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;
import org.springframework.kafka.annotation.TopicPartition;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@code ListenerSettings}: the settings with which a listener starts.
 */
@Tag("promise-12")
class ListenerSettingsTests {

	private final ApplicationContextRunner runner = Contexts.all();

	@Test
	void returnedValueWithoutJacksonIsRefused() {
		FailureAnalysis analysis = Contexts.failure(Contexts.inMemory()
			.withClassLoader(new FilteredClassLoader(JsonMapper.class))
			.withUserConfiguration(Value.class));
		assertThat(analysis.getDescription())
			.contains("Value.listen returns a value, but there is no Jackson to serialize it.");
		assertThat(analysis.getAction()).contains("Add 'spring-boot-starter-jackson'");
	}

	@Test
	void methodThatNoListenerCallsCausesAWarning() {
		try (Logs logs = new Logs()) {
			this.runner.withUserConfiguration(Unused.class).run((context) -> assertThat(context).hasNotFailed());
			assertThat(logs.messages("WARN")).singleElement()
				.asString()
				.contains("@Idempotent has no effect on ListenerSettingsTests.Unused.call",
						"Put it on a @KafkaListener method");
		}
	}

	@Test
	void startIsLoggedWithTheSettingsThatApply() {
		try (Logs logs = new Logs()) {
			this.runner.withUserConfiguration(Plain.class).run((context) -> assertThat(context).hasNotFailed());
			assertThat(logs.messages("INFO")).contains(
					"Idempotent listener ListenerSettingsTests.Plain.listen: topics [topic], scope 'group/topic', "
							+ "mode TRANSACTIONAL, store 'jdbc', retention 7d");
		}
	}

	@Test
	void startIsLoggedOnceForEachListener() {
		try (Logs logs = new Logs()) {
			this.runner
				.withPropertyValues("spring.kafka.bootstrap-servers=" + Servers.kafka().getBrokersAsString(),
						"spring.kafka.listener.concurrency=3", "idempotency.retention=36h", "idempotency.mode=leased")
				.withUserConfiguration(Several.class)
				.run((context) -> assertThat(context).hasNotFailed());
			assertThat(logs.messages("INFO").stream().filter((line) -> line.startsWith("Idempotent listener")))
				.containsExactlyInAnyOrder(
						"Idempotent listener ListenerSettingsTests.Several.retried: topics [retried], scope "
								+ "'group/retried', mode LEASED, store 'jdbc', lease 30s, retention 1d12h",
						"Idempotent listener ListenerSettingsTests.Several.dead: topics [retried-dlt], scope "
								+ "'group/retried#dead-letter', mode LEASED, store 'jdbc', lease 30s, retention 1d12h",
						"Idempotent listener ListenerSettingsTests.Several.pattern: topics matching 'pattern.*', scope "
								+ "'patterned/<topic>', mode LEASED, store 'jdbc', lease 30s, retention 1d12h",
						"Idempotent listener ListenerSettingsTests.Several.partitions: topics [assigned], scope "
								+ "'group/assigned', mode LEASED, store 'jdbc', lease 30s, retention 1d12h");
		}
	}

	static class Plain {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class Several {

		@Idempotent
		@RetryableTopic(attempts = "3", autoCreateTopics = "false")
		@KafkaListener(topics = "retried", groupId = "group")
		void retried(String value) {
		}

		@DltHandler
		@Idempotent
		void dead(String value) {
		}

		@Idempotent
		@KafkaListener(topicPattern = "pattern.*", groupId = "patterned")
		void pattern(String value) {
		}

		@Idempotent
		@KafkaListener(groupId = "group",
				topicPartitions = @TopicPartition(topic = "assigned", partitions = { "0", "1" }))
		void partitions(String value) {
		}

	}

	// Public, because its proxy belongs to another class loader.
	public static class Value {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		public String listen(String value) {
			return value;
		}

	}

	static class Unused {

		@Idempotent
		void call(String value) {
		}

	}

}
