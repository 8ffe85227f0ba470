/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.DeadLetters;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for a producer that guesses the key of another one and sends it first, with a
 * fingerprint header of its own, as {@code docs/security.md} describes.
 */
@Tag("promise-9")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class HostileProducerTests {

	private final String prefix = Servers.unique("hostile");

	private ConfigurableApplicationContext context;

	private DeadLetters dead;

	private List<String> warnings;

	@BeforeAll
	void start() {
		List<String> names = List.of("plain", "declared", "keyed");
		for (String name : names) {
			Servers.addTopics(1, topic(name), topic(name) + "-dead");
			send(name, "p1", "forged", Map.of("Idempotency-Fingerprint", "anything", "producer", "mallory"));
			send(name, "p1", "genuine", Map.of("producer", "alice"));
		}
		try (Logs logs = Logs.about(this.prefix)) {
			this.context = TestApp.of(Listeners.class, DeadLetters.class).with("prefix", this.prefix).run();
			this.dead = this.context.getBean(DeadLetters.class);
			names.forEach((name) -> await().atMost(Duration.ofSeconds(30))
				.untilAsserted(() -> assertThat(Kafka.lag(this.prefix, topic(name))).isZero()));
			this.warnings = logs.messages("WARN");
		}
	}

	private void send(String name, String key, String value, Map<String, String> headers) {
		ProducerRecord<String, String> record = new ProducerRecord<>(topic(name), value);
		record.headers().add("Idempotency-Key", key.getBytes(StandardCharsets.UTF_8));
		headers.forEach((header, text) -> record.headers().add(header, text.getBytes(StandardCharsets.UTF_8)));
		Kafka.send(record);
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	private String topic(String name) {
		return this.prefix + "-" + name;
	}

	private List<Outcome> outcomes(String name) {
		return this.dead.outcomes("HostileProducerTests.Listeners." + name);
	}

	@Test
	void suppressedRecordIsReportedAlthoughTheFirstOneHadAFingerprintOfItsProducer() {
		assertThat(outcomes("plain")).containsExactly(Outcome.PROCESSED, Outcome.OTHER_CONTENT);
		assertThat(this.warnings).filteredOn((message) -> message.contains("Listeners.plain has"))
			.singleElement()
			.asString()
			.contains("key 'p1'", "offset 1", "offset 0")
			.doesNotContain("genuine", "forged");
	}

	@Test
	void suppressedRecordIsADeadLetterWithADeclaredFingerprint() {
		assertThat(outcomes("declared")).containsExactly(Outcome.PROCESSED, Outcome.REJECTED);
		assertThat(DeadLetters.read(topic("declared"))).singleElement()
			.satisfies((record) -> assertThat(record.value()).isEqualTo("genuine"));
	}

	@Test
	void recordIsProcessedWhenItsProducerIsAPartOfTheKey() {
		assertThat(outcomes("keyed")).containsExactly(Outcome.PROCESSED, Outcome.PROCESSED);
		assertThat(TestApp.target(this.context, Listeners.class).handled).contains("keyed genuine");
	}

	static class Listeners {

		final Queue<String> handled = new ConcurrentLinkedQueue<>();

		@Idempotent(mode = Mode.LEASED)
		@KafkaListener(topics = "${prefix}-plain", groupId = "${prefix}")
		void plain(String value) {
			this.handled.add("plain " + value);
		}

		@Idempotent(mode = Mode.LEASED, fingerprint = "#payload")
		@KafkaListener(topics = "${prefix}-declared", groupId = "${prefix}")
		void declared(String value) {
			this.handled.add("declared " + value);
		}

		@Idempotent(key = "#headers['producer'] + '/' + #headers['Idempotency-Key']", mode = Mode.LEASED)
		@KafkaListener(topics = "${prefix}-keyed", groupId = "${prefix}")
		void keyed(String value) {
			this.handled.add("keyed " + value);
		}

	}

}
