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
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for blocked records with the error handlers that an application may have.
 */
@Tag("promise-1")
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Order(3)
class WaitingTests {

	private static final List<String> HELD = List.of("plain", "dlt", "logging", "swallowing", "unseeking");

	private final Map<String, String> topics = new ConcurrentHashMap<>();

	private JdbcTemplate jdbc;

	private ConfigurableApplicationContext context;

	private WaitingLog log;

	// All listeners are blocked together, so that their tests wait at the same time.
	@BeforeAll
	void start() {
		String database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(database);
		TestApp app = TestApp.of(WaitingConfiguration.class)
			.database(database)
			// Shorter than a partition is paused: a consumer that does not poll leaves
			// its group.
			.with("spring.kafka.consumer.properties.max.poll.interval.ms", 4500);
		Stream.concat(HELD.stream(), Stream.of("rejoined")).forEach((name) -> {
			this.topics.put(name, Servers.newTopic(name, 2));
			app.with("topic." + name, this.topics.get(name));
		});
		this.context = app.run();
		this.log = this.context.getBean(WaitingLog.class);
		Servers.addTopics(2, this.topics.get("dlt") + "-dlt", this.topics.get("rejoined") + "-dlt");
		HELD.forEach(this::block);
		HELD.forEach((name) -> await()
			.untilAsserted(() -> assertThat(this.log.blockedDeliveries(name)).as(name).hasValueGreaterThan(0)));
		HELD.forEach((name) -> Kafka.send(Kafka.record(this.topics.get(name), 1, "other", "other")));
		// Longer than {@code max.poll.interval.ms}.
		await().pollDelay(Duration.ofSeconds(7)).until(() -> true);
	}

	private void block(String name) {
		CrashedOwner.claim(this.jdbc, held(name));
		for (String value : List.of("before", "held", "behind")) {
			Kafka.send(Kafka.record(this.topics.get(name), 0, value, value));
		}
	}

	private static IdempotencyKey held(String name) {
		return IdempotencyKey.of(name, "held");
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@Test
	void noRecordIsSkippedAndTheOrderIsKeptWithTheDefaultErrorHandler() {
		assertWaits("plain");
	}

	@Test
	void blockedRecordIsNotRecoveredWithADeadLetterRecoverer() {
		assertWaits("dlt");
		assertThat(Kafka.read(this.topics.get("dlt") + "-dlt")).isEmpty();
	}

	@Test
	void noRecordIsSkippedWithAnErrorHandlerThatOnlyLogs() {
		assertWaits("logging", false);
	}

	@Test
	void noRecordIsSkippedWithAnErrorHandlerThatDoesNotSeek() {
		assertWaits("unseeking", false);
	}

	@Test
	void noRecordIsSkippedWithAListenerErrorHandlerThatSwallowsExceptions() {
		assertWaits("swallowing");
	}

	@Test
	void blockedDeliveriesUseNoAttemptsOfHandlerFailures() {
		String topic = this.topics.get("rejoined");
		Kafka.send(topic, "bad", "bad");
		await().untilAsserted(() -> assertThat(Kafka.read(topic + "-dlt")).hasSize(1));
		assertThat(this.log.attempts).containsExactly(1, 2, 3);
		assertThat(this.log.blockedDeliveries("rejoined")).hasValueGreaterThanOrEqualTo(2);
	}

	private void assertWaits(String name) {
		assertWaits(name, true);
	}

	// Spring Kafka pauses the whole consumer while a handler that does not seek has
	// remaining records.
	private void assertWaits(String name, boolean otherPartitionsGoOn) {
		String topic = this.topics.get(name);
		Queue<String> seen = this.log.seen(name);
		if (otherPartitionsGoOn) {
			assertOtherPartitionGoesOn(name);
		}
		assertThat(Kafka.lag(topic, topic)).isGreaterThanOrEqualTo(2);
		assertThat(seen).contains("before").doesNotContain("held", "behind");
		CrashedOwner.endLease(this.jdbc, held(name));
		await().untilAsserted(() -> assertThat(Kafka.lag(topic, topic)).isZero());
		assertThat(seen).filteredOn((value) -> !value.startsWith("other")).containsExactly("before", "held", "behind");
		assertThat(this.log.assignments(topic)).hasValue(1);
	}

	// If the whole consumer was paused, each value would cost a redelivery of the
	// blocked record. It is redelivered once a second anyway.
	private void assertOtherPartitionGoesOn(String name) {
		AtomicInteger sent = new AtomicInteger();
		await().pollInSameThread().until(() -> {
			int before = this.log.blockedDeliveries(name).get();
			for (int i = 0; i < 3; i++) {
				String other = "other-" + sent.incrementAndGet();
				Kafka.send(Kafka.record(this.topics.get(name), 1, other, other));
				await().untilAsserted(() -> assertThat(this.log.seen(name)).contains(other));
			}
			return this.log.blockedDeliveries(name).get() < before + 2;
		});
	}

}
