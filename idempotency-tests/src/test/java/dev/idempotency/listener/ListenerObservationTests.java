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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ContainerCustomizer;
import org.springframework.kafka.event.ListenerContainerIdleEvent;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.support.micrometer.KafkaRecordReceiverContext;
import reactor.core.publisher.Mono;

import dev.idempotency.Idempotent;
import dev.idempotency.store.ClaimRequest;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for Spring Kafka's observations: each started observation is stopped, and no
 * scope remains open on the thread of the container.
 */
@Tag("promise-13")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ListenerObservationTests {

	private BatchApp app;

	@BeforeAll
	void start() {
		this.app = new BatchApp(new Class<?>[] { Listeners.class, Observations.class }, "leased",
				"spring.kafka.listener.observation-enabled=true", "spring.kafka.listener.idle-event-interval=200ms");
	}

	@AfterAll
	void stop() {
		this.app.close();
	}

	@ParameterizedTest
	@ValueSource(strings = { "record", "future", "mono", "batch" })
	void observationsOfAllDeliveriesEnd(String name) {
		this.app.complete(name, "duplicate", null);
		ClaimRequest other = this.app.hold(name, "held", Duration.ofMinutes(5));
		this.app.send(name, "a duplicate held a fails");
		this.app.start(name);
		await().atMost(Duration.ofSeconds(20)).until(() -> this.app.lag(name) == 3);
		one(this.app.store()).release(other);
		this.app.awaitDone(name);
		Observations observations = this.app.listeners(Observations.class);
		observations.idle.clear();
		await().atMost(Duration.ofSeconds(10))
			.until(() -> observations.idle.stream().anyMatch((event) -> event.startsWith(this.app.name(name))));
		List<String> started = observations.of(name, "start");
		assertThat(started).contains("a", "duplicate", "fails", "held");
		assertThat(started).filteredOn((value) -> value.equals("held")).hasSizeGreaterThan(1);
		// The observation of an asynchronous result ends after the acknowledgment.
		await().atMost(Duration.ofSeconds(10)).untilAsserted(() -> {
			assertThat(observations.of(name, "stop"))
				.containsExactlyInAnyOrderElementsOf(observations.of(name, "start"));
			assertThat(observations.of(name, "close"))
				.containsExactlyInAnyOrderElementsOf(observations.of(name, "open"));
		});
		assertThat(observations.idle).noneMatch((event) -> event.endsWith("left open"));
		if (!name.equals("batch")) {
			assertThat(observations.of(name, "error")).contains("fails", "held").doesNotContain("a", "duplicate");
		}
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final Queue<String> failed = new ConcurrentLinkedQueue<>();

		@Idempotent(scope = "${prefix}-record")
		@KafkaListener(id = "${prefix}-record", topics = "${prefix}-record")
		void record(String value) {
			failOnce("record", value);
		}

		@Idempotent(scope = "${prefix}-future")
		@KafkaListener(id = "${prefix}-future", topics = "${prefix}-future")
		CompletableFuture<Void> future(String value) {
			return CompletableFuture.runAsync(() -> failOnce("future", value),
					CompletableFuture.delayedExecutor(20, TimeUnit.MILLISECONDS));
		}

		@Idempotent(scope = "${prefix}-mono")
		@KafkaListener(id = "${prefix}-mono", topics = "${prefix}-mono")
		Mono<Void> mono(String value) {
			return Mono.delay(Duration.ofMillis(20)).doOnNext((tick) -> failOnce("mono", value)).then();
		}

		@Idempotent(scope = "${prefix}-batch")
		@KafkaListener(id = "${prefix}-batch", topics = "${prefix}-batch", batch = "true")
		void batch(List<String> values) {
			values.forEach((value) -> failOnce("batch", value));
		}

		private void failOnce(String name, String value) {
			if (value.equals("fails") && !this.failed.contains(name)) {
				this.failed.add(name);
				throw new IllegalStateException("fails");
			}
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Observations {

		private final ObservationRegistry registry = ObservationRegistry.create();

		private final Queue<List<String>> events = new ConcurrentLinkedQueue<>();

		private final Queue<String> idle = new ConcurrentLinkedQueue<>();

		@Bean
		static ObservationRegistry observationRegistry(Observations observations) {
			observations.registry.observationConfig().observationHandler(new Recorder(observations.events));
			return observations.registry;
		}

		@Bean
		static ContainerCustomizer<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> ofBatches() {
			return (container) -> container.getContainerProperties().setRecordObservationsInBatch(true);
		}

		// Runs on the thread of the container.
		@EventListener
		void idle(ListenerContainerIdleEvent event) {
			boolean open = this.registry.getCurrentObservation() != null;
			this.idle.add(event.getListenerId() + (open ? " left open" : ""));
		}

		List<String> of(String name, String what) {
			return this.events.stream()
				.filter((event) -> event.get(0).endsWith("-" + name) && event.get(1).equals(what))
				.map((event) -> event.get(2))
				.toList();
		}

	}

	/**
	 * Not a bean, because Boot would register it a second time.
	 *
	 * @param events the reported events
	 */
	record Recorder(Queue<List<String>> events) implements ObservationHandler<KafkaRecordReceiverContext> {

		@Override
		public boolean supportsContext(Observation.Context context) {
			return context instanceof KafkaRecordReceiverContext;
		}

		@Override
		public void onStart(KafkaRecordReceiverContext context) {
			add("start", context);
		}

		@Override
		public void onStop(KafkaRecordReceiverContext context) {
			add("stop", context);
		}

		@Override
		public void onError(KafkaRecordReceiverContext context) {
			add("error", context);
		}

		@Override
		public void onScopeOpened(KafkaRecordReceiverContext context) {
			add("open", context);
		}

		@Override
		public void onScopeClosed(KafkaRecordReceiverContext context) {
			add("close", context);
		}

		private void add(String what, KafkaRecordReceiverContext context) {
			this.events.add(List.of(context.getRecord().topic(), what, String.valueOf(context.getRecord().value())));
		}

	}

}
