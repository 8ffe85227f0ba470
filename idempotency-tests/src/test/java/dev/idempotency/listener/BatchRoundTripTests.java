/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@code ProtectedBatchListener}: a batch of 500 with 20 % duplicates, half of
 * which are copies in the batch, is claimed with one call and completed with one.
 * {@code BatchStatementTests} and {@code RoundTripTests} count what a call sends.
 */
@Execution(ExecutionMode.CONCURRENT)
class BatchRoundTripTests {

	@ParameterizedTest
	@CsvSource({ "leased, jdbc CLAIM|jdbc COMPLETE", "transactional, jdbc CLAIM", "redis, redis CLAIM|redis COMPLETE" })
	void batchOfFiveHundredIsClaimedOnceAndCompletedOnce(String mode, String calls) {
		try (BatchApp app = new BatchApp(Listeners.class, mode, "spring.kafka.consumer.max-poll-records=500",
				"spring.kafka.consumer.fetch-min-size=1MB",
				"spring.kafka.consumer.properties.fetch.max.wait.ms=2000")) {
			Servers.addTopics(1, app.name("many"));
			for (int i = 0; i < 500; i++) {
				// 400 new keys, 50 copies of them, and 50 duplicates of completed keys.
				int key = (i < 400) ? i : (i < 450) ? i - 400 : i + 1000;
				if (i >= 450) {
					app.complete("many", "k" + key, null);
				}
				Kafka.send(app.name("many"), "k" + key, "v" + i);
			}
			RecordingObserver recorded = app.listeners(RecordingObserver.class);
			Listeners listeners = app.listeners(Listeners.class);
			app.start("many");
			app.awaitDone("many");
			assertThat(listeners.sizes).containsExactly(400);
			assertThat(recorded.storeCalls()).containsExactly(calls.split("\\|"));
			assertThat(recorded.outcomes()).hasSize(500);
		}
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final Queue<Integer> sizes = new ConcurrentLinkedQueue<>();

		@Idempotent(scope = "${prefix}-many")
		@KafkaListener(id = "${prefix}-many", topics = "${prefix}-many", batch = "true")
		void many(List<ConsumerRecord<String, String>> records) {
			this.sizes.add(records.size());
		}

	}

}
