/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.support.KafkaHeaders;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.messaging.handler.annotation.Payload;
import org.springframework.validation.annotation.Validated;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.Kafka;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for interceptors, filters, customizers and validators of the application around
 * batch listeners: dropped records leave nothing in the store, and the others have one
 * effect.
 */
@Tag("promise-8")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class BatchInterceptionTests {

	private BatchApp app;

	@BeforeAll
	void start() {
		this.app = new BatchApp(new Class<?>[] { Listeners.class, BatchInterceptionConfiguration.class }, "leased");
	}

	@AfterAll
	void stop() {
		this.app.close();
	}

	@Test
	void batchInterceptorBeanReceivesTheDeliveredBatch() {
		this.app.complete("bean", "b", null);
		assertThat(seen("bean", "a b a c")).containsExactly("a@0 c@3");
		assertThat(log("interceptor bean")).containsExactly("a b a c");
	}

	@Test
	void batchDroppedByAnInterceptorIsAcknowledgedAndNotStored() {
		assertThat(seen("dropped", "a x")).isEmpty();
		assertThat(one(this.app.store()).find(this.app.key("dropped", "a"))).isEmpty();
		Kafka.send(this.app.name("dropped"), "a", "a");
		this.app.awaitDone("dropped");
		assertThat(log("dropped")).containsExactly("a@2");
	}

	@Test
	void recordsDroppedByAnInterceptorAreNotStored() {
		this.app.complete("factory", "b", null);
		assertThat(seen("factory", "x a b x a c")).containsExactly("a@1 c@5");
		assertThat(one(this.app.store()).find(this.app.key("factory", "x"))).isEmpty();
	}

	@Test
	void filteredRecordsAreNotStored() {
		this.app.complete("filtered", "b", null);
		assertThat(seen("filtered", "x a b x a c x")).containsExactly("a@1 c@5");
		assertThat(one(this.app.store()).find(this.app.key("filtered", "x"))).isEmpty();
	}

	@Test
	void filterIsNotAppliedToAWholePoll() {
		this.app.complete("poll", "b", null);
		assertThat(seen("poll", "x a b x a c")).containsExactly("x@0 a@1 c@5");
	}

	@Test
	void customizersReceiveTheContainerBeforeItIsProtected() {
		assertThat(log("customizer")).contains("bean BatchMessagingMessageListenerAdapter",
				"validated BatchMessagingMessageListenerAdapter");
	}

	@Test
	@Tag("promise-10")
	void invalidBatchGoesToTheErrorHandlerAndIsNotStored() {
		assertThat(seen("validated", "a x b")).isEmpty();
		for (String letter : List.of("a", "x", "b")) {
			assertThat(one(this.app.store()).find(this.app.key("validated", letter))).isEmpty();
		}
		Kafka.send(this.app.name("validated"), "a", "a");
		this.app.awaitDone("validated");
		assertThat(log("validated")).containsExactly("a@3");
	}

	private List<String> seen(String name, String letters) {
		this.app.send(name, letters);
		this.app.start(name);
		this.app.awaitDone(name);
		return log(name);
	}

	private List<String> log(String name) {
		return List.copyOf(this.app.listeners(InterceptionLog.class).of(name));
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final InterceptionLog log;

		Listeners(InterceptionLog log) {
			this.log = log;
		}

		@Idempotent(scope = "${prefix}-bean")
		@KafkaListener(id = "${prefix}-bean", topics = "${prefix}-bean", batch = "true")
		void bean(List<ConsumerRecord<String, String>> records) {
			add("bean", records);
		}

		@Idempotent(scope = "${prefix}-dropped")
		@KafkaListener(id = "${prefix}-dropped", topics = "${prefix}-dropped", batch = "true")
		void dropped(List<ConsumerRecord<String, String>> records) {
			add("dropped", records);
		}

		@Idempotent(scope = "${prefix}-factory")
		@KafkaListener(id = "${prefix}-factory", topics = "${prefix}-factory", batch = "true",
				containerFactory = "intercepting")
		void factory(List<String> values, @Header(KafkaHeaders.OFFSET) List<Long> offsets) {
			add("factory", values, offsets);
		}

		@Idempotent(scope = "${prefix}-filtered")
		@KafkaListener(id = "${prefix}-filtered", topics = "${prefix}-filtered", batch = "true",
				containerFactory = "filtering")
		void filtered(List<String> values, @Header(KafkaHeaders.OFFSET) List<Long> offsets) {
			add("filtered", values, offsets);
		}

		@Idempotent(scope = "${prefix}-poll")
		@KafkaListener(id = "${prefix}-poll", topics = "${prefix}-poll", batch = "true", containerFactory = "filtering")
		void poll(ConsumerRecords<String, String> records) {
			List<ConsumerRecord<String, String>> list = new ArrayList<>();
			records.forEach(list::add);
			add("poll", list);
		}

		@Idempotent(scope = "${prefix}-validated")
		@KafkaListener(id = "${prefix}-validated", topics = "${prefix}-validated", batch = "true")
		void validated(@Validated @Payload List<String> values, @Header(KafkaHeaders.OFFSET) List<Long> offsets) {
			add("validated", values, offsets);
		}

		private void add(String name, List<ConsumerRecord<String, String>> records) {
			add(name, records.stream().map(ConsumerRecord::value).toList(),
					records.stream().map(ConsumerRecord::offset).toList());
		}

		private void add(String name, List<String> values, List<Long> offsets) {
			this.log.of(name)
				.add(String.join(" ",
						Stream.iterate(0, (i) -> i + 1)
							.limit(Math.max(values.size(), offsets.size()))
							.map((i) -> values.get(i) + "@" + offsets.get(i))
							.toList()));
		}

	}

}
