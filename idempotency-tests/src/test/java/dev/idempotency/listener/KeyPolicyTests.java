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
import java.util.concurrent.ConcurrentLinkedQueue;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.support.KafkaHeaders;
import org.springframework.messaging.handler.annotation.Payload;

import dev.idempotency.IdempotencyKeyMissingException;
import dev.idempotency.Idempotent;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.DeadLetters;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link MissingKeyPolicy} on a real broker and PostgreSQL.
 */
@Tag("promise-10")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class KeyPolicyTests {

	private final String coordinates = Servers.newTopic("coordinates", 1);

	private final String reject = DeadLetters.newTopic("reject");

	private final String process = Servers.newTopic("process", 1);

	private final String expression = Servers.newTopic("expression", 1);

	private ConfigurableApplicationContext context;

	private Listeners listeners;

	private DeadLetters dead;

	private Logs logs;

	@BeforeAll
	void start() {
		this.logs = new Logs();
		this.context = TestApp.of(Listeners.class, DeadLetters.class)
			.with("coordinates", this.coordinates)
			.with("reject", this.reject)
			.with("process", this.process)
			.with("expression", this.expression)
			.run();
		this.listeners = TestApp.target(this.context, Listeners.class);
		this.dead = this.context.getBean(DeadLetters.class);
	}

	@AfterAll
	void stop() {
		this.logs.close();
		this.context.close();
	}

	@Test
	void recordCoordinatesMakeRedeliveryADuplicateAndASecondSendNewWithOneWarning() {
		Kafka.send(this.coordinates, null, "secret");
		Kafka.send(this.coordinates, null, "secret");
		awaitAll(this.coordinates);
		assertThat(this.listeners.coordinates).as("sent twice").hasSize(2);
		redeliver(this.coordinates);
		assertThat(this.listeners.coordinates).as("delivered again").hasSize(2);
		assertThat(this.dead.outcomes("KeyPolicyTests.Listeners.coordinates")).containsExactly(Outcome.PROCESSED,
				Outcome.PROCESSED, Outcome.DUPLICATE, Outcome.DUPLICATE);
		assertThat(warnings(this.coordinates)).singleElement()
			.asString()
			.contains("no usable idempotency key: neither the expression nor a header has one",
					"listener KeyPolicyTests.Listeners.coordinates, topic " + this.coordinates
							+ ", partition 0, offset 0",
					"Its coordinates are used as the key")
			.doesNotContain("secret");
	}

	@Test
	void rejectedRecordIsHandedToTheRecovererAtOnceAndTheNextIsProcessed() {
		Kafka.send(this.reject, null, "secret");
		Kafka.send(this.reject, "k", "next");
		awaitAll(this.reject);
		assertThat(this.listeners.reject).containsExactly("next");
		assertThat(this.dead.deliveries(this.reject)).containsExactly(0L, 1L);
		assertThat(DeadLetters.read(this.reject)).singleElement().satisfies((record) -> {
			assertThat(record.value()).isEqualTo("secret");
			assertThat(DeadLetters.header(record, KafkaHeaders.DLT_EXCEPTION_CAUSE_FQCN))
				.isEqualTo(IdempotencyKeyMissingException.class.getName());
			assertThat(DeadLetters.header(record, KafkaHeaders.DLT_EXCEPTION_STACKTRACE))
				.contains("listener KeyPolicyTests.Listeners.reject, topic " + this.reject
						+ ", partition 0, offset 0). The record is rejected")
				.doesNotContain("secret");
		});
		assertThat(this.dead.outcomes("KeyPolicyTests.Listeners.reject")).containsExactly(Outcome.REJECTED,
				Outcome.PROCESSED);
	}

	@Test
	void recordWithoutKeyIsProcessedUnprotectedAndCounted() {
		Kafka.send(this.process, null, "secret");
		Kafka.send(this.process, " ", "secret");
		awaitAll(this.process);
		redeliver(this.process);
		assertThat(this.listeners.process).hasSize(4);
		assertThat(this.dead.outcomes("KeyPolicyTests.Listeners.process")).hasSize(4).containsOnly(Outcome.UNPROTECTED);
		assertThat(warnings(this.process)).hasSize(2)
			.allSatisfy((warning) -> assertThat(warning).contains("The record is processed without protection")
				.doesNotContain("secret"));
	}

	@Test
	void tombstonesHaveTheKeyOfTheirHeaderOrTheirCoordinates() {
		Kafka.send(this.expression, "k", null);
		Kafka.send(this.expression, "k", null);
		Kafka.send(this.expression, null, null);
		Kafka.send(this.expression, null, null);
		Kafka.send(this.expression, "other", "id-1");
		Kafka.send(this.expression, "another", "id-1");
		awaitAll(this.expression);
		assertThat(this.listeners.expression).containsExactly("tombstone", "tombstone", "tombstone", "id-1");
		assertThat(warnings(this.expression)).singleElement().asString().contains("offset 2");
	}

	private List<String> warnings(String topic) {
		return this.logs.messages("WARN").stream().filter((message) -> message.contains("topic " + topic)).toList();
	}

	private static void awaitAll(String topic) {
		await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> assertThat(Kafka.lag(topic, topic)).isZero());
	}

	private void redeliver(String topic) {
		MessageListenerContainer container = this.context.getBean(KafkaListenerEndpointRegistry.class)
			.getAllListenerContainers()
			.stream()
			.filter((candidate) -> topic.equals(candidate.getGroupId()))
			.findFirst()
			.orElseThrow();
		container.stop();
		DeadLetters.rewind(topic);
		container.start();
		awaitAll(topic);
	}

	static class Listeners {

		final Queue<String> coordinates = new ConcurrentLinkedQueue<>();

		final Queue<String> reject = new ConcurrentLinkedQueue<>();

		final Queue<String> process = new ConcurrentLinkedQueue<>();

		final Queue<String> expression = new ConcurrentLinkedQueue<>();

		@Idempotent(onMissingKey = MissingKeyPolicy.RECORD_COORDINATES)
		@KafkaListener(id = "coordinates", topics = "${coordinates}", groupId = "${coordinates}")
		void coordinates(String value) {
			this.coordinates.add(value);
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.REJECT)
		@KafkaListener(id = "reject", topics = "${reject}", groupId = "${reject}")
		void reject(String value) {
			this.reject.add(value);
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.PROCESS)
		@KafkaListener(id = "process", topics = "${process}", groupId = "${process}")
		void process(String value) {
			this.process.add(value);
		}

		@Idempotent(key = "#payload?.substring(0, 4)")
		@KafkaListener(id = "expression", topics = "${expression}", groupId = "${expression}")
		void expression(@Payload(required = false) String value) {
			this.expression.add((value != null) ? value : "tombstone");
		}

	}

}
