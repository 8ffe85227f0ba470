/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.AbstractList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.kafka.autoconfigure.ConcurrentKafkaListenerContainerFactoryConfigurer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.KafkaListenerErrorHandler;
import org.springframework.kafka.listener.adapter.RecordFilterStrategy;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.test.util.AopTestUtils;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.Idempotent;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.listener.BatchApp.Batches;
import dev.idempotency.store.ClaimRequest;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for batches with blocked records: a record in progress elsewhere blocks the
 * records after it in its partition, and no record is skipped.
 */
@Order(3)
@Tag("promise-1")
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class BatchWaitingTests {

	private final Map<String, BatchApp> apps = new ConcurrentHashMap<>();

	private final Map<List<String>, ClaimRequest> others = new ConcurrentHashMap<>();

	// All listeners are blocked together, so that their tests wait at the same time.
	@BeforeAll
	void start() {
		for (String mode : List.of("leased", "transactional", "redis")) {
			this.apps.put(mode, new BatchApp(new Class<?>[] { Listeners.class, Handlers.class }, mode,
					"spring.kafka.consumer.properties.max.poll.interval.ms=4000"));
		}
		cases().forEach(this::block);
		cases().forEach((modeAndName) -> await()
			.untilAsserted(() -> assertThat(lag(modeAndName)).as(modeAndName.toString()).isEqualTo(2)));
		// Longer than {@code max.poll.interval.ms}.
		await().pollDelay(Duration.ofSeconds(5)).until(() -> true);
	}

	private void block(List<String> modeAndName) {
		BatchApp app = this.apps.get(modeAndName.get(0));
		String name = modeAndName.get(1);
		this.others.put(modeAndName, app.hold(name, "b", Duration.ofMinutes(10)));
		app.send(name, "a b c", "x y");
		app.start(name);
	}

	private long lag(List<String> modeAndName) {
		return this.apps.get(modeAndName.get(0)).lag(modeAndName.get(1));
	}

	@AfterAll
	void stop() {
		this.apps.values().forEach(BatchApp::close);
	}

	static Stream<List<String>> cases() {
		return Stream.of("leased", "transactional", "redis")
			.flatMap((mode) -> Stream.of("plain", "unseeking", "swallowing").map((name) -> List.of(mode, name)));
	}

	@ParameterizedTest
	@MethodSource("cases")
	void blockedRecordBlocksOnlyLaterRecordsOfItsPartition(List<String> modeAndName) {
		BatchApp app = this.apps.get(modeAndName.get(0));
		String name = modeAndName.get(1);
		List<String> seen = app.listeners(Listeners.class).letters(name);
		assertThat(lag(modeAndName)).isEqualTo(2);
		assertThat(seen).containsExactlyInAnyOrder("a", "x", "y");
		one(app.store()).release(this.others.get(modeAndName));
		app.awaitDone(name);
		assertThat(seen).containsExactlyInAnyOrder("a", "x", "y", "b", "c");
		assertThat(seen.indexOf("b")).isLessThan(seen.indexOf("c"));
	}

	@ParameterizedTest
	@ValueSource(strings = { "leased", "transactional", "redis" })
	void blockedDeliveriesUseNoAttemptsOfAFailingBatch(String mode) {
		BatchApp app = this.apps.get(mode);
		Listeners listeners = app.listeners(Listeners.class);
		listeners.whenFailing = () -> listeners.other = app.hold("failing", "b", Duration.ofSeconds(5));
		app.send("failing", "a b");
		app.start("failing");
		app.awaitDone("failing");
		assertThat(listeners.letters("failing")).endsWith("a", "b");
		assertThat(listeners.recovered).isFalse();
	}

	// No record of the second partition reaches the method.
	@ParameterizedTest
	@ValueSource(strings = { "leased", "transactional", "redis" })
	void partitionOfFilteredRecordsIsCommittedWhileAnotherPartitionIsBlocked(String mode) {
		BatchApp app = this.apps.get(mode);
		ClaimRequest other = app.hold("dropping", "b", Duration.ofMinutes(5));
		app.send("dropping", "b", "f f", "y f");
		app.start("dropping");
		await().untilAsserted(() -> assertThat(app.lag("dropping")).isOne());
		one(app.store()).release(other);
		app.awaitDone("dropping");
		assertThat(app.listeners(Listeners.class).batches("dropping").list()).containsExactly("y", "b");
	}

	// The record without a key has no completion that is pending.
	@Test
	void filteredRecordBesideABlockedOneDoesNotCommitAnUnacknowledgedRecord() {
		// Records that are sent together are polled together.
		try (BatchApp app = new BatchApp(Unacknowledging.class, "leased", "spring.kafka.listener.ack-mode=manual",
				"spring.kafka.consumer.fetch-min-size=1MB",
				"spring.kafka.consumer.properties.fetch.max.wait.ms=1000")) {
			Unacknowledging listener = app.listeners(Unacknowledging.class);
			ClaimRequest other = app.hold("late", "b", Duration.ofMinutes(5));
			app.send("late", "-", "a");
			app.start("late");
			await().until(() -> listener.letters.size() == 2);
			app.sendMore("late", "f", "b");
			app.awaitBlocked("late");
			app.stop("late");
			assertThat(app.lag("late")).isEqualTo(4);
			one(app.store()).release(other);
			listener.acknowledging = true;
			app.start("late");
			app.awaitDone("late");
			assertThat(listener.letters).containsExactlyInAnyOrder("-", "a", "-", "a", "b");
		}
	}

	@Test
	void partitionIsResumedAsSoonAsTheKeyIsFree() {
		BatchApp app = this.apps.get("leased");
		ClaimRequest other = app.hold("released", "b", Duration.ofMinutes(5));
		app.send("released", "a b c");
		app.start("released");
		await().untilAsserted(() -> assertThat(app.lag("released")).isEqualTo(2));
		one(app.store()).release(other);
		app.awaitDone("released");
		assertThat(app.listeners(Listeners.class).batches("released").list()).containsExactly("a", "b c");
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final Map<String, Batches> batches = new ConcurrentHashMap<>();

		private final AtomicBoolean failed = new AtomicBoolean();

		private volatile Runnable whenFailing = () -> {
		};

		private volatile ClaimRequest other;

		private volatile boolean recovered;

		Batches batches(String name) {
			return this.batches.computeIfAbsent(name, (unused) -> new Batches());
		}

		List<String> letters(String name) {
			return new AbstractList<>() {

				private List<String> all() {
					return batches(name).list().stream().flatMap((batch) -> Stream.of(batch.split(" "))).toList();
				}

				@Override
				public String get(int index) {
					return all().get(index);
				}

				@Override
				public int size() {
					return all().size();
				}

			};
		}

		@Idempotent(scope = "${prefix}-plain")
		@KafkaListener(id = "${prefix}-plain", topics = "${prefix}-plain", batch = "true")
		void plain(List<String> values) {
			batches("plain").add(values);
		}

		@Idempotent(scope = "${prefix}-dropping")
		@KafkaListener(id = "${prefix}-dropping", topics = "${prefix}-dropping", batch = "true", filter = "dropping")
		void dropping(List<String> letters) {
			batches("dropping").add(letters);
		}

		@Bean
		static RecordFilterStrategy<Object, Object> dropping() {
			return (record) -> record.value().equals("f");
		}

		@Idempotent(scope = "${prefix}-released")
		@KafkaListener(id = "${prefix}-released", topics = "${prefix}-released", batch = "true")
		void released(List<String> values) {
			batches("released").add(values);
		}

		@Idempotent(scope = "${prefix}-unseeking")
		@KafkaListener(id = "${prefix}-unseeking", topics = "${prefix}-unseeking", batch = "true",
				containerFactory = "unseekingFactory")
		void unseeking(List<String> values) {
			batches("unseeking").add(values);
		}

		@Idempotent(scope = "${prefix}-swallowing")
		@KafkaListener(id = "${prefix}-swallowing", topics = "${prefix}-swallowing", batch = "true",
				errorHandler = "swallowingHandler")
		void swallowing(List<String> values) {
			batches("swallowing").add(values);
		}

		// Fails once, and is blocked when the error handler invokes the listener again.
		@Idempotent(scope = "${prefix}-failing")
		@KafkaListener(id = "${prefix}-failing", topics = "${prefix}-failing", batch = "true",
				containerFactory = "failingFactory")
		void failing(List<String> values) {
			batches("failing").add(values);
			if (this.failed.compareAndSet(false, true)) {
				throw new IllegalStateException("once");
			}
		}

	}

	static class Unacknowledging {

		private final Queue<String> letters = new ConcurrentLinkedQueue<>();

		private volatile boolean acknowledging;

		@Idempotent(scope = "${prefix}-late", onMissingKey = MissingKeyPolicy.PROCESS)
		@KafkaListener(id = "${prefix}-late", topics = "${prefix}-late", batch = "true", filter = "dropping")
		void late(List<String> values, Acknowledgment acknowledgment) {
			this.letters.addAll(values);
			if (this.acknowledging) {
				acknowledgment.acknowledge();
			}
		}

		@Bean
		static RecordFilterStrategy<Object, Object> dropping() {
			return Listeners.dropping();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Handlers {

		@Bean
		KafkaListenerErrorHandler swallowingHandler() {
			return (message, exception) -> null;
		}

		@Bean
		ConcurrentKafkaListenerContainerFactory<Object, Object> unseekingFactory(
				ConcurrentKafkaListenerContainerFactoryConfigurer configurer,
				ObjectProvider<ConsumerFactory<Object, Object>> consumers) {
			DefaultErrorHandler handler = new DefaultErrorHandler(new FixedBackOff(0, 2));
			handler.setSeekAfterError(false);
			return factory(configurer, consumers, handler);
		}

		@Bean
		ConcurrentKafkaListenerContainerFactory<Object, Object> failingFactory(
				ConcurrentKafkaListenerContainerFactoryConfigurer configurer,
				ObjectProvider<ConsumerFactory<Object, Object>> consumers, ObjectProvider<Listeners> listeners) {
			DefaultErrorHandler handler = new DefaultErrorHandler((record, ex) -> target(listeners).recovered = true,
					new FixedBackOff(100, 3));
			handler.setBackOffFunction((record, ex) -> {
				if (target(listeners).other == null) {
					target(listeners).whenFailing.run();
				}
				return null;
			});
			return factory(configurer, consumers, handler);
		}

		private static Listeners target(ObjectProvider<Listeners> listeners) {
			return AopTestUtils.getTargetObject(listeners.getObject());
		}

		private static ConcurrentKafkaListenerContainerFactory<Object, Object> factory(
				ConcurrentKafkaListenerContainerFactoryConfigurer configurer,
				ObjectProvider<ConsumerFactory<Object, Object>> consumers, DefaultErrorHandler handler) {
			ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
			configurer.configure(factory, consumers.getObject());
			factory.setCommonErrorHandler(handler);
			return factory;
		}

	}

}
