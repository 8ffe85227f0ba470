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
import java.util.stream.Stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.store.ClaimRequest;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for containers with virtual threads and with several threads.
 */
@Tag("promise-2")
class ListenerThreadTests {

	@ParameterizedTest
	@CsvSource({ "leased, record", "leased, batch", "transactional, record", "transactional, batch", "redis, record",
			"redis, batch" })
	@EnabledForJreRange(min = JRE.JAVA_21)
	void recordsAreProcessedOnceAndBlockedOnVirtualThreads(String mode, String name) {
		try (BatchApp app = new BatchApp(Listeners.class, mode, "spring.threads.virtual.enabled=true")) {
			ClaimRequest other = app.hold(name, "b", Duration.ofMinutes(5));
			app.send(name, "a a b c b", "x x");
			app.start(name);
			Listeners listeners = app.listeners(Listeners.class);
			await().atMost(Duration.ofSeconds(20)).until(() -> app.lag(name) == 3);
			assertThat(listeners.seen(name)).containsExactlyInAnyOrder("a", "x");
			one(app.store()).release(other);
			app.awaitDone(name);
			assertThat(listeners.seen(name)).containsExactlyInAnyOrder("a", "x", "b", "c");
			assertThat(listeners.threads).isNotEmpty().allMatch((thread) -> thread.startsWith("VirtualThread["));
		}
	}

	@ParameterizedTest
	@CsvSource({ "leased", "transactional", "redis" })
	void copiesInTheBatchesOfFourThreadsRunOnce(String mode) {
		try (BatchApp app = new BatchApp(Listeners.class, mode, "spring.kafka.listener.concurrency=4")) {
			String letters = "a b c d e f g h i j k l m n o p";
			app.send("batch", letters, letters + " 0", letters + " 1", "2 " + letters);
			app.start("batch");
			app.awaitDone("batch");
			Listeners listeners = app.listeners(Listeners.class);
			assertThat(listeners.seen("batch"))
				.containsExactlyInAnyOrderElementsOf(List.of((letters + " 0 1 2").split(" ")));
		}
	}

	@Test
	void blockedRecordOfOneThreadDoesNotBlockTheOtherThreads() {
		try (BatchApp app = new BatchApp(Listeners.class, "leased", "spring.kafka.listener.concurrency=4")) {
			ClaimRequest other = app.hold("batch", "b", Duration.ofMinutes(5));
			app.send("batch", "a b c", "d e", "f g", "h i");
			app.start("batch");
			Listeners listeners = app.listeners(Listeners.class);
			await().atMost(Duration.ofSeconds(20)).until(() -> app.lag("batch") == 2);
			assertThat(listeners.seen("batch"))
				.containsExactlyInAnyOrderElementsOf(Stream.of("a", "d", "e", "f", "g", "h", "i").toList());
			one(app.store()).release(other);
			app.awaitDone("batch");
			assertThat(listeners.seen("batch")).hasSize(9).endsWith("b", "c");
		}
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final Map<String, Queue<String>> seen = new ConcurrentHashMap<>();

		private final Queue<String> threads = new ConcurrentLinkedQueue<>();

		List<String> seen(String name) {
			return List.copyOf(queue(name));
		}

		private Queue<String> queue(String name) {
			return this.seen.computeIfAbsent(name, (unused) -> new ConcurrentLinkedQueue<>());
		}

		@Idempotent(scope = "${prefix}-record")
		@KafkaListener(id = "${prefix}-record", topics = "${prefix}-record")
		void record(String value) {
			assertThat(IdempotentExecution.current().attempt()).isPositive();
			this.threads.add(Thread.currentThread().toString());
			queue("record").add(value);
		}

		@Idempotent(scope = "${prefix}-batch")
		@KafkaListener(id = "${prefix}-batch", topics = "${prefix}-batch", batch = "true")
		void batch(List<String> values) {
			this.threads.add(Thread.currentThread().toString());
			queue("batch").addAll(values);
		}

	}

}
