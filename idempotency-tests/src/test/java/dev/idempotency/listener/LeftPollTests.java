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
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.kafka.autoconfigure.ConcurrentKafkaListenerContainerFactoryConfigurer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.event.ListenerContainerIdleEvent;
import org.springframework.kafka.event.ListenerContainerNoLongerIdleEvent;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.ConsumerSeekAware;
import org.springframework.kafka.listener.ConsumerSeekAware.ConsumerSeekCallback;
import org.springframework.kafka.listener.RecordInterceptor;
import org.springframework.kafka.support.Acknowledgment;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests that no record is passed when a container leaves a poll early, with containers
 * and positions that the application has changed.
 */
@Tag("promise-1")
class LeftPollTests {

	@ParameterizedTest
	@ValueSource(strings = { "offset", "beginning" })
	void recordsToWhichTheApplicationSeeksWhenPartitionsAreAssignedAreRedelivered(String kind) {
		try (BatchApp app = new BatchApp(Seeking.class, "leased", "spring.kafka.consumer.auto-offset-reset=latest",
				"kind=" + kind)) {
			app.send("seek", "a b c", "d e f");
			app.start("seek");
			Seeking listeners = app.listeners(Seeking.class);
			await().until(() -> listeners.seen.containsAll(List.of("a", "b", "c", "d", "e", "f")));
			assertThat(listeners.failure.failed).isTrue();
		}
	}

	@Test
	@Tag("promise-15")
	@SuppressWarnings("unchecked")
	void recordsAreRedeliveredIfAnInterceptorIsSetAfterRegistration() {
		try (BatchApp app = new BatchApp(Plain.class, "leased")) {
			app.send("plain", "a b c", "d e f");
			FailingInterceptor failure = new FailingInterceptor();
			((AbstractMessageListenerContainer<Object, Object>) app.container("plain")).setRecordInterceptor(failure);
			app.start("plain");
			Plain listeners = app.listeners(Plain.class);
			await().until(() -> listeners.seen.containsAll(List.of("a", "b", "c", "d", "e", "f")));
			assertThat(failure.failed).isTrue();
		}
	}

	@Test
	void recordsAreRedeliveredIfAnEventListenerFailsAndTheContainerFactoryIsNoBean() {
		try (BatchApp app = new BatchApp(NoBean.class, "leased", "spring.kafka.producer.transaction-id-prefix=left-")) {
			NoBean listeners = app.listeners(NoBean.class);
			app.send("nobean", "a b c");
			app.start("nobean");
			app.awaitDone("nobean");
			await().untilTrue(listeners.idle);
			listeners.armed.set(true);
			app.sendMore("nobean", "d");
			await().untilTrue(listeners.failed);
			app.sendMore("nobean", "e f");
			await().until(() -> listeners.seen.contains("f"));
			assertThat(listeners.seen).containsExactly("a", "b", "c", "d", "e", "f");
		}
	}

	@Test
	void pollThatTheContainerLeavesAgainAndAgainIsRepeatedWithPauses() {
		try (BatchApp app = new BatchApp(Stuck.class, "leased", "spring.kafka.producer.transaction-id-prefix=stuck-")) {
			Stuck listeners = app.listeners(Stuck.class);
			app.send("stuck", "a x b");
			app.start("stuck");
			await().until(() -> listeners.failures.size() > 3);
			listeners.over.set(true);
			app.awaitDone("stuck");
			assertThat(listeners.seen).containsExactly("a", "x", "b");
			assertThat(Duration.ofNanos(listeners.failures.get(3) - listeners.failures.get(1)))
				.isGreaterThan(Duration.ofSeconds(1));
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "leased", "transactional" })
	void nackedRecordIsRedeliveredIfAnInterceptorFailsBehindIt(String mode) {
		try (BatchApp app = new BatchApp(Nacking.class, mode, "spring.kafka.listener.ack-mode=manual")) {
			app.send("nacking", "a b c");
			app.start("nacking");
			app.awaitDone("nacking");
			assertThat(app.listeners(Nacking.class).seen).containsExactly("a", "b", "c");
		}
	}

	/**
	 * Fails once, after the first record.
	 */
	private static final class FailingInterceptor implements RecordInterceptor<Object, Object> {

		private final AtomicBoolean failed = new AtomicBoolean();

		@Override
		public ConsumerRecord<Object, Object> intercept(ConsumerRecord<Object, Object> record,
				Consumer<Object, Object> consumer) {
			return record;
		}

		@Override
		public void afterRecord(ConsumerRecord<Object, Object> record, Consumer<Object, Object> consumer) {
			if (this.failed.compareAndSet(false, true)) {
				throw new IllegalStateException("fails once");
			}
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Stuck {

		private final List<String> seen = new CopyOnWriteArrayList<>();

		private final List<Long> failures = new CopyOnWriteArrayList<>();

		private final AtomicBoolean over = new AtomicBoolean();

		@Bean
		RecordInterceptor<Object, Object> failing() {
			return (record, consumer) -> {
				if (record.value().equals("x") && !this.over.get()) {
					this.failures.add(System.nanoTime());
					throw new IllegalStateException("fails always");
				}
				return record;
			};
		}

		@Idempotent(scope = "${prefix}-stuck", mode = Mode.LEASED)
		@KafkaListener(id = "${prefix}-stuck", topics = "${prefix}-stuck")
		void stuck(String value) {
			this.seen.add(value);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Seeking implements ConsumerSeekAware {

		private final List<String> seen = new CopyOnWriteArrayList<>();

		private final FailingInterceptor failure = new FailingInterceptor();

		@Value("${kind}")
		private String kind;

		@Bean
		RecordInterceptor<Object, Object> failing() {
			return this.failure;
		}

		@Override
		public void onPartitionsAssigned(Map<TopicPartition, Long> assignments, ConsumerSeekCallback callback) {
			assignments.keySet().forEach((partition) -> {
				if (this.kind.equals("offset")) {
					callback.seek(partition.topic(), partition.partition(), 0);
				}
				else {
					callback.seekToBeginning(partition.topic(), partition.partition());
				}
			});
		}

		@Idempotent
		@KafkaListener(id = "${prefix}-seek", topics = "${prefix}-seek")
		void seek(String value) {
			this.seen.add(value);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Plain {

		private final List<String> seen = new CopyOnWriteArrayList<>();

		@Idempotent
		@KafkaListener(id = "${prefix}-plain", topics = "${prefix}-plain")
		void plain(String value) {
			this.seen.add(value);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Nacking {

		private final List<String> seen = new CopyOnWriteArrayList<>();

		private final AtomicBoolean nacked = new AtomicBoolean();

		@Bean
		RecordInterceptor<Object, Object> failing() {
			return new FailingInterceptor();
		}

		@Idempotent
		@KafkaListener(id = "${prefix}-nacking", topics = "${prefix}-nacking")
		void nacking(String value, Acknowledgment acknowledgment) {
			if (this.nacked.compareAndSet(false, true)) {
				acknowledgment.nack(Duration.ZERO);
				return;
			}
			this.seen.add(value);
			acknowledgment.acknowledge();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class NoBean {

		private final List<String> seen = new CopyOnWriteArrayList<>();

		private final AtomicBoolean idle = new AtomicBoolean();

		private final AtomicBoolean armed = new AtomicBoolean();

		private final AtomicBoolean failed = new AtomicBoolean();

		@Bean
		static Factories factories(ConcurrentKafkaListenerContainerFactoryConfigurer configurer,
				ConsumerFactory<Object, Object> consumers) {
			return new Factories(configurer, consumers);
		}

		@EventListener
		void idle(ListenerContainerIdleEvent event) {
			this.idle.set(!this.seen.isEmpty());
		}

		@EventListener
		void noLongerIdle(ListenerContainerNoLongerIdleEvent event) {
			if (this.armed.get() && this.failed.compareAndSet(false, true)) {
				throw new IllegalStateException("fails once");
			}
		}

		@Idempotent(mode = Mode.LEASED)
		@KafkaListener(id = "${prefix}-nobean", topics = "${prefix}-nobean", containerFactory = "#{@factories.get()}")
		void nobean(String value) {
			this.seen.add(value);
		}

	}

	record Factories(ConcurrentKafkaListenerContainerFactoryConfigurer configurer,
			ConsumerFactory<Object, Object> consumers)
			implements
				Supplier<ConcurrentKafkaListenerContainerFactory<Object, Object>> {

		@Override
		public ConcurrentKafkaListenerContainerFactory<Object, Object> get() {
			ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
			this.configurer.configure(factory, this.consumers);
			factory.getContainerProperties().setIdleEventInterval(100L);
			return factory;
		}

	}

}
