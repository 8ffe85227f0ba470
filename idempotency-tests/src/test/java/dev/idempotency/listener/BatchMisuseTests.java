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
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.kafka.autoconfigure.ConcurrentKafkaListenerContainerFactoryConfigurer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.listener.BatchListenerFailedException;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.kafka.support.KafkaHeaders;
import org.springframework.messaging.Message;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.Idempotent;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.listener.BatchApp.Batches;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord.State;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@code ProtectedBatchListener}: nothing is lost, whatever a method does with
 * its batch or reports about it.
 */
@Tag("promise-1")
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class BatchMisuseTests {

	private final Map<String, BatchApp> apps = new ConcurrentHashMap<>();

	@BeforeAll
	void start() {
		for (String mode : List.of("leased", "transactional")) {
			this.apps.put(mode, new BatchApp(Listeners.class, mode));
			this.apps.put(mode + " manual",
					new BatchApp(Listeners.class, mode, "spring.kafka.listener.ack-mode=manual_immediate"));
		}
	}

	@AfterAll
	void stop() {
		this.apps.values().forEach(BatchApp::close);
	}

	private static List<String> batches(BatchApp app, String name) {
		return app.listeners(Listeners.class).batches(name).list();
	}

	// The index is that of a delivered record, but of none that the method has received.
	@ParameterizedTest
	@ValueSource(strings = { "leased", "transactional" })
	void indexOutsideTheBatchFailsTheWholeBatch(String mode) {
		BatchApp app = this.apps.get(mode);
		for (String letter : List.of("a", "b", "d")) {
			app.complete("behind", letter, null);
		}
		app.send("behind", "a b c d e f");
		app.start("behind");
		app.awaitDone("behind");
		assertThat(batches(app, "behind")).containsExactly("c e f", "c e f");
		assertThat(app.record("behind", "c").state()).isEqualTo(State.COMPLETED);
	}

	@ParameterizedTest
	@ValueSource(strings = { "leased", "transactional" })
	void methodMayChangeItsList(String mode) {
		BatchApp app = this.apps.get(mode);
		app.send("changing", "a b c d");
		app.start("changing");
		app.awaitDone("changing");
		assertThat(batches(app, "changing")).startsWith("a b c d").endsWith("c d");
		for (String letter : List.of("a", "b", "c", "d")) {
			assertThat(app.record("changing", letter).state()).isEqualTo(State.COMPLETED);
		}
		assertThat(app.record("changing", "d").attempt()).isEqualTo(1);
	}

	@ParameterizedTest
	@ValueSource(strings = { "leased", "transactional" })
	void blockedExceptionOfANestedTemplateUsesNoAttempts(String mode) {
		BatchApp app = this.apps.get(mode);
		app.send("nested", "a b c", "x");
		app.start("nested");
		app.awaitDone("nested");
		assertThat(app.listeners(Listeners.class).blocked).hasValueGreaterThan(5);
		assertThat(app.record("nested", "b").state()).isEqualTo(State.COMPLETED);
		assertThat(app.record("nested", "c").state()).isEqualTo(State.COMPLETED);
	}

	@ParameterizedTest
	@ValueSource(strings = { "leased manual", "transactional manual" })
	void acknowledgmentOfAHeaderTakesEffectWhenAllRecordsAreProcessed(String mode) {
		BatchApp app = this.apps.get(mode);
		ClaimRequest other = app.hold("header", "b", Duration.ofMinutes(5));
		app.send("header", "a b c");
		app.start("header");
		await().atMost(Duration.ofSeconds(20))
			.untilAsserted(() -> assertThat(batches(app, "header")).containsExactly("a"));
		await().during(Duration.ofSeconds(1)).atMost(Duration.ofSeconds(20)).until(() -> app.lag("header") >= 2);
		one(app.store()).release(other);
		app.awaitDone("header");
		assertThat(batches(app, "header")).containsExactly("a", "b c");
	}

	@Test
	void leasesOfAFailedBatchAreReleased() {
		BatchApp app = this.apps.get("leased");
		app.send("error", "a");
		app.start("error");
		await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> assertThat(batches(app, "error")).isNotEmpty());
		await().atMost(Duration.ofSeconds(20))
			.untilAsserted(() -> assertThat(app.record("error", "a").state()).isEqualTo(State.FAILED));
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final Map<String, Batches> all = new ConcurrentHashMap<>();

		private final AtomicInteger blocked = new AtomicInteger();

		Batches batches(String name) {
			return this.all.computeIfAbsent(name, (unused) -> new Batches());
		}

		@Idempotent(scope = "${prefix}-behind")
		@KafkaListener(id = "${prefix}-behind", topics = "${prefix}-behind", batch = "true")
		void behind(List<String> values) {
			if (batches("behind").add(values) == 1) {
				throw new BatchListenerFailedException("one too many", values.size());
			}
		}

		@Idempotent(scope = "${prefix}-changing")
		@KafkaListener(id = "${prefix}-changing", topics = "${prefix}-changing", batch = "true")
		void changing(List<ConsumerRecord<String, String>> records) {
			int call = batches("changing").add(records.stream().map(ConsumerRecord::value).toList());
			if (call == 1) {
				ConsumerRecord<String, String> failed = records.get(2);
				records.clear();
				throw new BatchListenerFailedException("no. 2", failed);
			}
			records.clear();
		}

		// The exception of a nested template, wrapped as methods do.
		@Idempotent(scope = "${prefix}-nested")
		@KafkaListener(id = "${prefix}-nested", topics = "${prefix}-nested", batch = "true",
				containerFactory = "impatientFactory")
		void nested(List<String> values) {
			if (values.contains("b") && this.blocked.incrementAndGet() < 6) {
				throw new BatchListenerFailedException("wrapped",
						new OperationInProgressException("elsewhere", Duration.ofMillis(1)), values.indexOf("b"));
			}
		}

		// Three attempts, fewer than blocked deliveries.
		@Bean
		static ConcurrentKafkaListenerContainerFactory<Object, Object> impatientFactory(
				ConcurrentKafkaListenerContainerFactoryConfigurer configurer,
				ObjectProvider<ConsumerFactory<Object, Object>> consumers) {
			ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
			configurer.configure(factory, consumers.getObject());
			factory.setCommonErrorHandler(new DefaultErrorHandler(new FixedBackOff(0, 2)));
			return factory;
		}

		@Idempotent(scope = "${prefix}-header")
		@KafkaListener(id = "${prefix}-header", topics = "${prefix}-header", batch = "true")
		void header(List<Message<String>> messages) {
			batches("header").add(messages.stream().map(Message::getPayload).toList());
			Acknowledgment acknowledgment = messages.get(0)
				.getHeaders()
				.get(KafkaHeaders.ACKNOWLEDGMENT, Acknowledgment.class);
			if (acknowledgment != null) {
				acknowledgment.acknowledge();
			}
		}

		@Idempotent(scope = "${prefix}-error")
		@KafkaListener(id = "${prefix}-error", topics = "${prefix}-error", batch = "true")
		void error(List<String> values) {
			batches("error").add(values);
			throw new NoClassDefFoundError("of the method");
		}

	}

}
