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

import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.MessageListenerContainer;

import dev.idempotency.Idempotent;
import dev.idempotency.listener.error.BlockedRecordHandling;
import dev.idempotency.store.ClaimRequest;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link BlockedRecordHandling}: a partition that the application has paused
 * stays paused, also when a record of it is blocked.
 */
@Tag("promise-13")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class UsersPauseTests {

	private static final List<String> PAUSED = List.of("record", "batch");

	private static final List<String> PAUSED_LATER = List.of("record-later", "batch-later");

	private BatchApp app;

	@BeforeAll
	void start() {
		this.app = new BatchApp(Listeners.class, "leased");
		PAUSED.forEach(this::blockWhilePaused);
		PAUSED_LATER.forEach(this::blockAndPauseLater);
		// Longer than the partition of a blocked record is paused, for all listeners
		// together.
		await().pollDelay(Duration.ofSeconds(6)).until(() -> true);
	}

	// The listener pauses its partition when it receives the first record.
	private void blockWhilePaused(String name) {
		ClaimRequest other = this.app.hold(name, "b", Duration.ofMinutes(5));
		this.app.send(name, "a b c");
		this.app.start(name);
		await().until(() -> this.app.lag(name) == 2);
		one(this.app.store()).release(other);
	}

	private void blockAndPauseLater(String name) {
		ClaimRequest other = this.app.hold(name, "b", Duration.ofMinutes(5));
		this.app.send(name, "b c");
		this.app.start(name);
		this.app.awaitBlocked(name);
		Listeners listeners = this.app.listeners(Listeners.class);
		assertThat(listeners.container(name).isPartitionPaused(listeners.partition(name))).isFalse();
		listeners.container(name).pausePartition(listeners.partition(name));
		one(this.app.store()).release(other);
	}

	@AfterAll
	void stop() {
		this.app.close();
	}

	@ParameterizedTest
	@FieldSource("PAUSED")
	void partitionPausedByTheApplicationIsResumedOnlyByTheApplication(String name) {
		Listeners listeners = this.app.listeners(Listeners.class);
		assertThat(listeners.seen(name)).hasSize(1);
		listeners.container(name).resumePartition(listeners.partition(name));
		this.app.awaitDone(name);
		assertThat(listeners.seen(name)).containsExactly("a", "b", "c");
	}

	@ParameterizedTest
	@FieldSource("PAUSED_LATER")
	void partitionPausedByTheApplicationWhileARecordIsBlockedStaysPaused(String name) {
		Listeners listeners = this.app.listeners(Listeners.class);
		assertThat(listeners.seen(name)).isEmpty();
		assertThat(listeners.container(name).isPartitionPaused(listeners.partition(name))).isTrue();
		listeners.container(name).resumePartition(listeners.partition(name));
		this.app.awaitDone(name);
		assertThat(listeners.seen(name)).containsExactly("b", "c");
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final Map<String, Queue<String>> seen = new ConcurrentHashMap<>();

		private final ObjectProvider<KafkaListenerEndpointRegistry> registry;

		private final String prefix;

		Listeners(ObjectProvider<KafkaListenerEndpointRegistry> registry, @Value("${prefix}") String prefix) {
			this.registry = registry;
			this.prefix = prefix;
		}

		@Idempotent(scope = "${prefix}-record")
		@KafkaListener(id = "${prefix}-record", topics = "${prefix}-record")
		void record(String value) {
			handle("record", List.of(value));
		}

		@Idempotent(scope = "${prefix}-batch")
		@KafkaListener(id = "${prefix}-batch", topics = "${prefix}-batch", batch = "true")
		void batch(List<String> values) {
			handle("batch", values);
		}

		@Idempotent(scope = "${prefix}-record-later")
		@KafkaListener(id = "${prefix}-record-later", topics = "${prefix}-record-later")
		void recordLater(String value) {
			handle("record-later", List.of(value));
		}

		@Idempotent(scope = "${prefix}-batch-later")
		@KafkaListener(id = "${prefix}-batch-later", topics = "${prefix}-batch-later", batch = "true")
		void batchLater(List<String> values) {
			handle("batch-later", values);
		}

		private void handle(String name, List<String> values) {
			seen(name).addAll(values);
			if (values.contains("a")) {
				container(name).pausePartition(partition(name));
			}
		}

		Queue<String> seen(String name) {
			return this.seen.computeIfAbsent(name, (unused) -> new ConcurrentLinkedQueue<>());
		}

		MessageListenerContainer container(String name) {
			return this.registry.getObject().getListenerContainer(this.prefix + "-" + name);
		}

		TopicPartition partition(String name) {
			return new TopicPartition(this.prefix + "-" + name, 0);
		}

	}

}
