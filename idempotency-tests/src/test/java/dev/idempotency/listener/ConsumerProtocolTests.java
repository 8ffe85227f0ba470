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

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ContainerCustomizer;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;

import dev.idempotency.Idempotent;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.testsupport.Kafka;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the group protocol in which the broker assigns partitions: a consumer with a
 * blocked record stays in its group.
 */
@Tag("promise-1")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ConsumerProtocolTests {

	private static final Duration INTERVAL = Duration.ofSeconds(6);

	private static final Duration PATIENCE = Duration.ofSeconds(90);

	private BatchApp app;

	@BeforeAll
	void start() {
		this.app = new BatchApp(new Class<?>[] { Listeners.class, Assignments.class }, "leased",
				"spring.kafka.consumer.properties.group.protocol=consumer",
				"spring.kafka.consumer.properties.max.poll.interval.ms=" + INTERVAL.toMillis());
	}

	@AfterAll
	void stop() {
		this.app.close();
	}

	@ParameterizedTest
	@ValueSource(strings = { "record", "batch" })
	void blockedConsumerStaysInItsGroupLongerThanThePollInterval(String name) {
		ClaimRequest other = this.app.hold(name, "b", Duration.ofMinutes(5));
		this.app.send(name, "a b c", "x");
		this.app.start(name);
		Queue<String> seen = this.app.listeners(WaitingLog.class).seen(name);
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(seen).containsExactlyInAnyOrder("a", "x"));
		await().pollDelay(INTERVAL.plusSeconds(1)).atMost(PATIENCE).until(() -> this.app.lag(name) == 2);
		Kafka.send(Kafka.record(this.app.name(name), 1, "y", "y"));
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(seen).contains("y"));
		assertThat(seen).doesNotContain("b", "c");
		one(this.app.store()).release(other);
		this.app.awaitDone(name);
		assertThat(seen).filteredOn((value) -> List.of("a", "b", "c").contains(value)).containsExactly("a", "b", "c");
		assertThat(seen).hasSize(5);
		assertThat(this.app.listeners(WaitingLog.class).assignments(this.app.name(name))).hasValue(1);
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final WaitingLog log;

		Listeners(WaitingLog log) {
			this.log = log;
		}

		@Idempotent(scope = "${prefix}-record")
		@KafkaListener(id = "${prefix}-record", topics = "${prefix}-record")
		void record(String value) {
			this.log.seen("record").add(value);
		}

		@Idempotent(scope = "${prefix}-batch")
		@KafkaListener(id = "${prefix}-batch", topics = "${prefix}-batch", batch = "true")
		void batch(List<String> values) {
			this.log.seen("batch").addAll(values);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Assignments {

		@Bean
		static WaitingLog waitingLog() {
			return new WaitingLog();
		}

		@Bean
		static ContainerCustomizer<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> assignments(
				WaitingLog log) {
			return new WaitingConfiguration().countAssignments(log);
		}

	}

}
