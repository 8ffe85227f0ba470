/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.listener.CommonErrorHandler;
import org.springframework.kafka.listener.MessageListenerContainer;

import dev.idempotency.Idempotent;
import dev.idempotency.store.ClaimRequest;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for a {@link CommonErrorHandler} that does not seek: Spring Kafka keeps the
 * remaining records in memory and forgets which earlier ones are in flight.
 */
@Tag("promise-1")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class NonSeekingErrorHandlerTests {

	private BatchApp app;

	@BeforeAll
	void start() {
		this.app = new BatchApp(Listeners.class, "leased");
	}

	@AfterAll
	void stop() {
		this.app.close();
	}

	@Test
	void laterBlockedRecordDoesNotCommitPastARecordInFlight() {
		this.app.send("future", "slow b");
		this.app.hold("future", "b", Duration.ofMillis(1500));
		this.app.start("future");
		this.app.awaitDone("future");
		assertThat(this.app.listeners(Listeners.class).seen).containsExactly("slow begins", "slow ends", "b");
	}

	@Test
	void otherPartitionsAreProcessedWhileARecordIsBlocked() {
		ClaimRequest other = this.app.hold("record", "a", Duration.ofMinutes(5));
		this.app.send("record", "a b", "c");
		this.app.start("record");
		await().atMost(Duration.ofSeconds(20)).until(() -> this.app.lag("record") == 2);
		this.app.sendMore("record", "d", "e");
		await().atMost(Duration.ofSeconds(20)).until(() -> this.app.lag("record") == 3);
		assertThat(this.app.listeners(Listeners.class).records).containsExactly("c", "e");
		one(this.app.store()).release(other);
		this.app.awaitDone("record");
		assertThat(this.app.listeners(Listeners.class).records).containsExactly("c", "e", "a", "b", "d");
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final Queue<String> seen = new ConcurrentLinkedQueue<>();

		private final Queue<String> records = new ConcurrentLinkedQueue<>();

		@Bean
		static CommonErrorHandler skipping() {
			return new CommonErrorHandler() {

				@Override
				public boolean handleOne(Exception thrownException, ConsumerRecord<?, ?> record,
						Consumer<?, ?> consumer, MessageListenerContainer container) {
					return true;
				}

			};
		}

		@Idempotent(scope = "${prefix}-future")
		@KafkaListener(id = "${prefix}-future", topics = "${prefix}-future")
		CompletableFuture<Void> future(ConsumerRecord<String, String> record) {
			if (!record.value().equals("slow")) {
				this.seen.add(record.value());
				return CompletableFuture.completedFuture(null);
			}
			this.seen.add("slow begins");
			// Longer than the later record is blocked.
			return CompletableFuture.runAsync(() -> this.seen.add("slow ends"),
					CompletableFuture.delayedExecutor(5, TimeUnit.SECONDS));
		}

		@Idempotent(scope = "${prefix}-record")
		@KafkaListener(id = "${prefix}-record", topics = "${prefix}-record")
		void record(String value) {
			this.records.add(value);
		}

	}

}
