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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

import javax.sql.DataSource;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.MessageListenerContainer;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Idempotent;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.UnreliableStore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for asynchronous listeners whose container stops, or whose store is unavailable.
 */
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class AsyncLifecycleTests {

	private static final Duration PATIENCE = Duration.ofSeconds(90);

	private final TestDatabase database = TestDatabase.create();

	@AfterAll
	void closeDatabase() {
		this.database.close();
	}

	private ConfigurableApplicationContext start(String topic) {
		return TestApp.of(Listeners.class).database(this.database.url()).with("topic", topic).run();
	}

	private State state(String topic) {
		return this.database.record(IdempotencyKey.of(topic, topic)).state();
	}

	private static void awaitRun(Listeners listeners, String value) {
		await().atMost(PATIENCE).until(() -> listeners.runs.contains(value));
	}

	private static void awaitLag(String topic, long lag) {
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(Kafka.lag(topic, topic)).isEqualTo(lag));
	}

	@Test
	@Tag("promise-7")
	void resultThatArrivesAfterTheContainerHasStoppedIsRecorded() {
		String topic = Servers.newTopic("stopping", 1);
		try (ConfigurableApplicationContext context = start(topic)) {
			Listeners listeners = TestApp.target(context, Listeners.class);
			MessageListenerContainer container = context.getBean(KafkaListenerEndpointRegistry.class)
				.getListenerContainer("listener");
			Kafka.send(topic, topic, "pending");
			awaitRun(listeners, "pending");
			container.stop();
			listeners.signal("pending").complete(null);
			await().atMost(PATIENCE).until(() -> state(topic) == State.COMPLETED);
			assertThat(Kafka.lag(topic, topic)).isOne();
			container.start();
			awaitLag(topic, 0);
			assertThat(listeners.runs).containsExactly("pending");
		}
	}

	@Test
	@Tag("promise-7")
	void recordWithoutAResultIsProcessedAfterARestart() {
		String topic = Servers.newTopic("closing", 1);
		Listeners first;
		try (ConfigurableApplicationContext context = start(topic)) {
			first = TestApp.target(context, Listeners.class);
			Kafka.send(topic, topic, "pending");
			awaitRun(first, "pending");
		}
		first.signal("pending").complete(null);
		assertThat(Kafka.lag(topic, topic)).isOne();
		assertThat(state(topic)).isEqualTo(State.IN_PROGRESS);
		try (ConfigurableApplicationContext context = start(topic)) {
			Listeners second = TestApp.target(context, Listeners.class);
			second.signal("pending").complete(null);
			awaitLag(topic, 0);
			assertThat(second.runs).containsExactly("pending");
			assertThat(state(topic)).isEqualTo(State.COMPLETED);
		}
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-11")
	void recordIsBlockedWhileTheStoreIsUnavailable() {
		String topic = Servers.newTopic("down", 1);
		try (ConfigurableApplicationContext context = start(topic)) {
			Listeners listeners = TestApp.target(context, Listeners.class);
			UnreliableStore store = context.getBean(UnreliableStore.class);
			store.fail(StoreCall.CLAIM);
			listeners.signal("value").complete(null);
			Kafka.send(topic, topic, "value");
			await().during(Duration.ofSeconds(2)).atMost(PATIENCE).until(() -> Kafka.lag(topic, topic) == 1);
			assertThat(listeners.runs).isEmpty();
			store.recover();
			awaitLag(topic, 0);
			assertThat(listeners.runs).containsExactly("value");
		}
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-11")
	void recordIsAcknowledgedWhenTheStoreHasRecordedItsCompletion() {
		String topic = Servers.newTopic("untold", 1);
		try (ConfigurableApplicationContext context = start(topic)) {
			Listeners listeners = TestApp.target(context, Listeners.class);
			UnreliableStore store = context.getBean(UnreliableStore.class);
			store.fail(StoreCall.COMPLETE);
			Kafka.send(topic, topic, "value");
			awaitRun(listeners, "value");
			listeners.signal("value").complete(null);
			await().during(Duration.ofSeconds(2)).atMost(PATIENCE).until(() -> Kafka.lag(topic, topic) == 1);
			store.recover();
			awaitLag(topic, 0);
			assertThat(state(topic)).isEqualTo(State.COMPLETED);
			assertThat(listeners.runs).containsExactly("value");
		}
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-4")
	void recordsAfterOneThatAnotherOwnerHasCompletedAreProcessed() {
		String topic = Servers.newTopic("lost", 1);
		try (ConfigurableApplicationContext context = start(topic)) {
			Listeners listeners = TestApp.target(context, Listeners.class);
			Kafka.send(topic, topic, "a");
			awaitRun(listeners, "a");
			takeOver(topic, "state = 'C', lease_until = NULL");
			listeners.signal("a").complete(null);
			for (String value : List.of("b", "c", "d")) {
				listeners.signal(value).complete(null);
				Kafka.send(topic, topic + value, value);
			}
			awaitLag(topic, 0);
			assertThat(listeners.runs).containsExactly("a", "b", "c", "d");
		}
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-2")
	void recordThatAnotherOwnerHasTakenOverIsAcknowledgedWhenThatOwnerHasCompleted() {
		String topic = Servers.newTopic("taken", 1);
		try (ConfigurableApplicationContext context = start(topic)) {
			Listeners listeners = TestApp.target(context, Listeners.class);
			UnreliableStore store = context.getBean(UnreliableStore.class);
			Kafka.send(topic, topic, "a");
			awaitRun(listeners, "a");
			takeOver(topic, "lease_until = clock_timestamp() + interval '1 hour'");
			AtomicInteger claims = new AtomicInteger();
			store.before(StoreCall.CLAIM, (claim) -> claims.incrementAndGet());
			listeners.signal("a").complete(null);
			await().atMost(PATIENCE).until(() -> claims.get() >= 2);
			assertThat(Kafka.lag(topic, topic)).isOne();
			takeOver(topic, "state = 'C', lease_until = NULL");
			awaitLag(topic, 0);
			assertThat(listeners.runs).containsExactly("a");
		}
	}

	@Test
	@Tag("promise-7")
	void handlerRunsAgainWhenTheClaimOfTheOtherOwnerHasExpired() {
		String topic = Servers.newTopic("expires", 1);
		try (ConfigurableApplicationContext context = start(topic)) {
			Listeners listeners = TestApp.target(context, Listeners.class);
			Kafka.send(topic, topic, "a");
			awaitRun(listeners, "a");
			takeOver(topic, "lease_until = clock_timestamp() + interval '1 s'");
			listeners.signal("b").complete(null);
			Kafka.send(topic, topic + "b", "b");
			listeners.signal("a").complete(null);
			awaitLag(topic, 0);
			assertThat(listeners.runs).containsExactlyInAnyOrder("a", "a", "b");
			assertThat(state(topic)).isEqualTo(State.COMPLETED);
		}
	}

	private void takeOver(String topic, String change) {
		this.database.jdbc()
			.update("UPDATE idempotency_record SET token = gen_random_uuid(), fence = fence + 1, " + change
					+ " WHERE key = ?", topic);
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final Queue<String> runs = new ConcurrentLinkedQueue<>();

		private final Map<String, CompletableFuture<Void>> pending = new ConcurrentHashMap<>();

		@Bean
		static UnreliableStore unreliableStore(DataSource dataSource) {
			return new UnreliableStore(new JdbcIdempotencyStore(dataSource, TestDatabase.TABLE, TestDatabase.TIMEOUT));
		}

		CompletableFuture<Void> signal(String value) {
			return this.pending.computeIfAbsent(value, (key) -> new CompletableFuture<>());
		}

		@Idempotent(scope = "${topic}", lease = "2s")
		@KafkaListener(id = "listener", idIsGroup = false, topics = "${topic}", groupId = "${topic}")
		CompletableFuture<Void> listen(String value) {
			this.runs.add(value);
			return signal(value);
		}

	}

}
