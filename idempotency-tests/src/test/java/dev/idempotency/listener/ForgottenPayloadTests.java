/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.memory.InMemoryIdempotencyStore;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.testsupport.UnreliableStore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests that the payload of a record with a pending completion is not kept: an outage may
 * last long and affect many records.
 */
@Tag("promise-11")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ForgottenPayloadTests {

	private BatchApp app;

	@BeforeAll
	void start() {
		this.app = new BatchApp(Listeners.class, "leased");
	}

	@AfterAll
	void stop() {
		this.app.close();
	}

	@ParameterizedTest
	@ValueSource(strings = { "record", "batch" })
	void payloadIsNotKeptWhileTheCompletionIsPending(String name) {
		UnreliableStore store = (UnreliableStore) this.app.store();
		store.fail(StoreCall.COMPLETE);
		this.app.send(name, "a");
		this.app.start(name);
		Listeners listeners = this.app.listeners(Listeners.class);
		await().atMost(Duration.ofSeconds(20)).until(() -> this.app.pending() == 1);
		await().atMost(Duration.ofSeconds(20)).until(() -> {
			System.gc();
			return listeners.payloads.get(name).get() == null;
		});
		assertThat(this.app.pending()).isOne();
		store.recover();
		this.app.awaitDone(name);
		assertThat(this.app.pending()).isZero();
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final Map<String, WeakReference<String>> payloads = new ConcurrentHashMap<>();

		@Bean
		static IdempotencyStore unreliable() {
			return new UnreliableStore(new InMemoryIdempotencyStore());
		}

		@Idempotent(scope = "${prefix}-record")
		@KafkaListener(id = "${prefix}-record", topics = "${prefix}-record")
		void record(ConsumerRecord<String, String> record) {
			this.payloads.put("record", new WeakReference<>(record.value()));
		}

		@Idempotent(scope = "${prefix}-batch")
		@KafkaListener(id = "${prefix}-batch", topics = "${prefix}-batch", batch = "true")
		void batch(List<ConsumerRecord<String, String>> records) {
			this.payloads.put("batch", new WeakReference<>(records.get(0).value()));
		}

	}

}
