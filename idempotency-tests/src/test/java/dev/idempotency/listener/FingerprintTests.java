/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.support.KafkaHeaders;

import dev.idempotency.IdempotencyFingerprintUnusableException;
import dev.idempotency.IdempotencyKeyReusedException;
import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.DeadLetters;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the fingerprint of {@link Idempotent} on a real broker and PostgreSQL.
 */
@Tag("promise-9")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class FingerprintTests {

	private final String prefix = Servers.unique("fingerprint");

	private ConfigurableApplicationContext context;

	private DeadLetters dead;

	@BeforeAll
	void start() {
		for (Mode mode : new Mode[] { Mode.TRANSACTIONAL, Mode.LEASED }) {
			Servers.addTopics(1, topic(mode), topic(mode) + "-dead");
			Kafka.send(topic(mode), "same", "{\"amount\":1,\"currency\":\"EUR\"}");
			Kafka.send(topic(mode), "same", "{\"amount\":1,\"currency\":\"EUR\"}");
			Kafka.send(topic(mode), "same", "{\"amount\":2,\"currency\":\"EUR\"}");
			Kafka.send(topic(mode), "next", "{}");
		}
		for (String topic : List.of(topic(Mode.AUTO), this.prefix + "-batch")) {
			Servers.addTopics(1, topic, topic + "-dead");
			Kafka.send(topic, "known", "long enough");
			Kafka.send(topic, "new", "x");
			Kafka.send(topic, "new", "y");
			Kafka.send(topic, "next", "long enough");
		}
		this.context = TestApp.of(Listeners.class, DeadLetters.class).with("prefix", this.prefix).run();
		this.dead = this.context.getBean(DeadLetters.class);
		for (Mode mode : Mode.values()) {
			await().atMost(Duration.ofSeconds(30))
				.untilAsserted(() -> assertThat(Kafka.lag(this.prefix, topic(mode))).isZero());
		}
		await().atMost(Duration.ofSeconds(30))
			.untilAsserted(() -> assertThat(Kafka.lag(this.prefix, this.prefix + "-batch")).isZero());
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@ParameterizedTest
	@EnumSource(names = "AUTO", mode = EnumSource.Mode.EXCLUDE)
	void sameContentIsADuplicateAndOtherContentIsRejected(Mode mode) {
		assertThat(this.dead.outcomes("FingerprintTests.Listeners." + mode.name().toLowerCase(Locale.ROOT)))
			.containsExactly(Outcome.PROCESSED, Outcome.DUPLICATE, Outcome.REJECTED, Outcome.PROCESSED);
	}

	@ParameterizedTest
	@EnumSource(names = "AUTO", mode = EnumSource.Mode.EXCLUDE)
	void otherContentIsDeliveredOnce(Mode mode) {
		assertThat(this.dead.deliveries(topic(mode))).containsExactly(0L, 1L, 2L, 3L);
	}

	@ParameterizedTest
	@EnumSource(names = "AUTO", mode = EnumSource.Mode.EXCLUDE)
	void otherContentReachesTheDeadLetterTopicWithoutItsPayloadInTheMessage(Mode mode) {
		assertThat(DeadLetters.read(topic(mode))).singleElement().satisfies((record) -> {
			assertThat(record.value()).contains("\"amount\":2");
			assertThat(DeadLetters.header(record, KafkaHeaders.DLT_EXCEPTION_CAUSE_FQCN))
				.isEqualTo(IdempotencyKeyReusedException.class.getName());
			assertThat(DeadLetters.header(record, KafkaHeaders.DLT_EXCEPTION_STACKTRACE))
				.contains("was already used with other content: key 'same' in scope",
						"topic " + topic(mode) + ", partition 0, offset 2")
				.doesNotContain("amount");
		});
	}

	@Test
	void recordWhoseFingerprintFailsIsRejectedAtOnce() {
		assertThat(this.dead.outcomes("FingerprintTests.Listeners.failing")).containsExactly(Outcome.PROCESSED,
				Outcome.REJECTED, Outcome.REJECTED, Outcome.PROCESSED);
		assertThat(this.dead.deliveries(topic(Mode.AUTO))).containsExactly(0L, 1L, 2L, 3L);
		assertThat(DeadLetters.read(topic(Mode.AUTO)))
			.allSatisfy((record) -> assertThat(DeadLetters.header(record, KafkaHeaders.DLT_EXCEPTION_CAUSE_FQCN))
				.isEqualTo(IdempotencyFingerprintUnusableException.class.getName()))
			.extracting((record) -> DeadLetters.header(record, KafkaHeaders.DLT_EXCEPTION_STACKTRACE))
			.satisfiesExactly((trace) -> assertFailure(trace, topic(Mode.AUTO), 1),
					(trace) -> assertFailure(trace, topic(Mode.AUTO), 2));
	}

	@Test
	void recordOfABatchWhoseFingerprintFailsIsRejected() {
		assertThat(DeadLetters.read(this.prefix + "-batch"))
			.extracting((record) -> DeadLetters.header(record, KafkaHeaders.DLT_EXCEPTION_STACKTRACE))
			.satisfiesExactly((trace) -> assertFailure(trace, this.prefix + "-batch", 1),
					(trace) -> assertFailure(trace, this.prefix + "-batch", 2));
		assertThat(TestApp.target(this.context, Listeners.class).batches).containsExactly("long enough", "long enough");
	}

	private static void assertFailure(String trace, String topic, int offset) {
		assertThat(trace).contains(
				"IdempotencyFingerprintUnusableException: The fingerprint '#payload.substring(3)' failed",
				"StringIndexOutOfBoundsException", "FingerprintTests.Listeners.",
				"topic " + topic + ", partition 0, offset " + offset);
		assertThat(trace).doesNotContain("length 1");
	}

	@Test
	void handlerRunsForTheFirstAndTheNextOnly() {
		Listeners listeners = TestApp.target(this.context, Listeners.class);
		assertThat(listeners.handled).hasSize(4).noneMatch((value) -> value.contains("\"amount\":2"));
	}

	private String topic(Mode mode) {
		return this.prefix + "-" + mode;
	}

	static class Listeners {

		final Queue<String> handled = new ConcurrentLinkedQueue<>();

		final Queue<String> batches = new ConcurrentLinkedQueue<>();

		@Idempotent(mode = Mode.TRANSACTIONAL, fingerprint = "#payload")
		@KafkaListener(topics = "${prefix}-TRANSACTIONAL", groupId = "${prefix}")
		void transactional(String value) {
			this.handled.add(value);
		}

		@Idempotent(fingerprint = "#payload.substring(3)")
		@KafkaListener(topics = "${prefix}-AUTO", groupId = "${prefix}")
		void failing(String value) {
			// The test verifies the outcomes only.
		}

		@Idempotent(fingerprint = "#payload.substring(3)")
		@KafkaListener(topics = "${prefix}-batch", groupId = "${prefix}", batch = "true")
		void batch(List<String> values) {
			this.batches.addAll(values);
		}

		@Idempotent(mode = Mode.LEASED, fingerprint = "#payload")
		@KafkaListener(topics = "${prefix}-LEASED", groupId = "${prefix}")
		void leased(String value) {
			this.handled.add(value);
		}

	}

}
