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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.OtherContentPolicy;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.template.OtherContent;
import dev.idempotency.testsupport.DeadLetters;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for keys that do not identify the operation: one topic carries the reservation
 * and the confirmation of an order, and the key is the order.
 */
@Tag("promise-9")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class OtherContentTests {

	private static final String KEY = "#payload.split(':')[0]";

	private static final List<String> SENT = List.of("o1:reserve", "o1:confirm", "o1:reserve", "o2:reserve");

	private final String prefix = Servers.unique("content");

	private ConfigurableApplicationContext context;

	private DeadLetters outcomes;

	private List<String> warnings;

	@BeforeAll
	void start() {
		List<String> names = List.of("transactional", "leased", "batch", "leasedBatch", "async", "ignoring",
				"declared");
		for (String name : names) {
			Servers.addTopics(1, topic(name), topic(name) + "-dead");
			SENT.subList(0, name.equals("async") ? 1 : SENT.size())
				.forEach((value) -> Kafka.send(topic(name), null, value));
		}
		try (Logs logs = Logs.about(this.prefix)) {
			this.context = TestApp.of(Listeners.class, DeadLetters.class).with("prefix", this.prefix).run();
			this.outcomes = this.context.getBean(DeadLetters.class);
			names.forEach(this::awaitEnd);
			// A record that is delivered while the first one completes does not know its
			// coordinates.
			SENT.subList(1, SENT.size()).forEach((value) -> Kafka.send(topic("async"), null, value));
			awaitEnd("async");
			this.warnings = logs.messages("WARN");
		}
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	private String topic(String name) {
		return this.prefix + "-" + name;
	}

	private void awaitEnd(String name) {
		await().atMost(Duration.ofSeconds(30))
			.untilAsserted(() -> assertThat(Kafka.lag(this.prefix, topic(name))).isZero());
	}

	private static String listener(String name) {
		return "OtherContentTests.Listeners." + name;
	}

	@ParameterizedTest
	@ValueSource(strings = { "transactional", "leased", "batch", "leasedBatch", "async", "declared" })
	void duplicateWithOtherContentIsCountedAsSuch(String name) {
		// The next record of an asynchronous listener is delivered while the first one
		// runs.
		assertThat(this.outcomes.outcomes(listener(name))).filteredOn((outcome) -> outcome != Outcome.IN_PROGRESS)
			.containsExactlyInAnyOrder(Outcome.PROCESSED, Outcome.OTHER_CONTENT, Outcome.DUPLICATE, Outcome.PROCESSED);
	}

	@ParameterizedTest
	@ValueSource(strings = { "transactional", "leased", "batch", "leasedBatch", "async", "declared" })
	void warningNamesBothRecordsAndWhatToDo(String name) {
		assertThat(this.warnings).filteredOn((message) -> message.contains(listener(name) + " has"))
			.singleElement()
			.asString()
			.startsWith("A duplicate of " + listener(name))
			.contains("key 'o1'", "topic " + topic(name) + ", partition 0, offset 1",
					"topic " + topic(name) + ", partition 0, offset 0", "add to the key what distinguishes them",
					"'onOtherContent' to IGNORE")
			.doesNotContain("confirm");
	}

	@Test
	void administrationListsTheDuplicates() {
		assertThat(this.context.getBean(IdempotencyTemplate.class).admin().otherContents())
			.filteredOn((content) -> content.listener().equals(listener("leased")))
			.singleElement()
			.satisfies((content) -> {
				assertThat(content.key().value()).isEqualTo("o1");
				assertThat(content.record()).endsWith("offset 1");
				assertThat(content.first()).endsWith("offset 0");
			});
		assertThat(this.context.getBean(IdempotencyTemplate.class).admin().otherContents())
			.extracting(OtherContent::listener)
			.hasSize(6);
	}

	@Test
	void contentThatIsIgnoredIsNotReported() {
		assertThat(this.outcomes.outcomes(listener("ignoring"))).containsExactly(Outcome.PROCESSED, Outcome.DUPLICATE,
				Outcome.DUPLICATE, Outcome.PROCESSED);
		assertThat(this.warnings).noneMatch((message) -> message.contains(listener("ignoring")));
	}

	@Test
	void handlerRunsForTheFirstContentOnly() {
		assertThat(TestApp.target(this.context, Listeners.class).handled).hasSize(14)
			.noneMatch((value) -> value.endsWith("confirm"));
	}

	static class Listeners {

		final Queue<String> handled = new ConcurrentLinkedQueue<>();

		@Idempotent(key = KEY, mode = Mode.TRANSACTIONAL)
		@KafkaListener(topics = "${prefix}-transactional", groupId = "${prefix}")
		void transactional(String value) {
			this.handled.add(value);
		}

		@Idempotent(key = KEY, mode = Mode.LEASED)
		@KafkaListener(topics = "${prefix}-leased", groupId = "${prefix}")
		void leased(String value) {
			this.handled.add(value);
		}

		@Idempotent(key = KEY, mode = Mode.TRANSACTIONAL)
		@KafkaListener(topics = "${prefix}-batch", groupId = "${prefix}", batch = "true")
		void batch(List<String> values) {
			this.handled.addAll(values);
		}

		@Idempotent(key = KEY, mode = Mode.LEASED)
		@KafkaListener(topics = "${prefix}-leasedBatch", groupId = "${prefix}", batch = "true")
		void leasedBatch(List<String> values) {
			this.handled.addAll(values);
		}

		@Idempotent(key = KEY)
		@KafkaListener(topics = "${prefix}-async", groupId = "${prefix}")
		CompletableFuture<Void> async(String value) {
			return CompletableFuture.runAsync(() -> this.handled.add(value));
		}

		@Idempotent(key = KEY, mode = Mode.LEASED, onOtherContent = OtherContentPolicy.IGNORE)
		@KafkaListener(topics = "${prefix}-ignoring", groupId = "${prefix}")
		void ignoring(String value) {
			this.handled.add(value);
		}

		@Idempotent(key = KEY, fingerprint = "#payload", onOtherContent = OtherContentPolicy.REPORT)
		@KafkaListener(topics = "${prefix}-declared", groupId = "${prefix}")
		void declared(String value) {
			this.handled.add(value);
		}

	}

}
