/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.listener.BatchListenerFailedException;
import org.springframework.messaging.handler.annotation.SendTo;

import dev.idempotency.Idempotent;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.listener.BatchApp.Batches;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@code ProtectedBatchListener}: the stored results of duplicates are replayed
 * at their positions in the batch.
 */
@Tag("promise-8")
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class BatchReplyTests {

	private static final List<String> MODES = List.of("leased", "transactional", "redis");

	private final Map<String, BatchApp> apps = new ConcurrentHashMap<>();

	@BeforeAll
	void start() {
		for (String mode : MODES) {
			this.apps.put(mode, new BatchApp(Listeners.class, mode, "spring.kafka.producer.value-serializer="
					+ "org.springframework.kafka.support.serializer.JacksonJsonSerializer"));
		}
	}

	@AfterAll
	void stop() {
		this.apps.values().forEach(BatchApp::close);
	}

	static Stream<String> modes() {
		return MODES.stream();
	}

	@ParameterizedTest
	@MethodSource("modes")
	void repliesKeepTheirPositions(String mode) {
		BatchApp app = this.apps.get(mode);
		Servers.addTopics(1, app.name("list") + "-out");
		app.complete("list", "b", "{\"text\":\"old b\"}");
		app.send("list", "a b c a");
		app.start("list");
		app.awaitDone("list");
		assertThat(app.listeners(Listeners.class).batches.list()).containsExactly("a c");
		await().untilAsserted(() -> assertThat(Kafka.read(app.name("list") + "-out")).extracting(ConsumerRecord::value)
			.containsExactly("{\"text\":\"re a\"}", "{\"text\":\"old b\"}", "{\"text\":\"re c\"}",
					"{\"text\":\"re a\"}"));
	}

	@ParameterizedTest
	@ValueSource(strings = "leased")
	void batchOfDuplicatesReplies(String mode) {
		BatchApp app = this.apps.get(mode);
		Servers.addTopics(1, app.name("other") + "-out");
		app.complete("other", "b", "{\"text\":\"old b\"}");
		app.send("other", "b b");
		app.start("other");
		app.awaitDone("other");
		await().untilAsserted(() -> assertThat(Kafka.read(app.name("other") + "-out")).extracting(ConsumerRecord::value)
			.containsExactly("{\"text\":\"old b\"}", "{\"text\":\"old b\"}"));
	}

	@ParameterizedTest
	@MethodSource("modes")
	void recordWithoutAResultHasNoReply(String mode) {
		BatchApp app = this.apps.get(mode);
		Servers.addTopics(1, app.name("versions") + "-out");
		app.send("versions", "a1 c1 b1 a2");
		app.start("versions");
		app.awaitDone("versions");
		app.sendMore("versions", "a1 b1 a3");
		app.awaitDone("versions");
		// In leased mode, the method does not run again for the record before the refused
		// one.
		List<String> replies = mode.equals("transactional") ? List.of("c1", "a2", "a3") : List.of("a2", "a3");
		await().untilAsserted(() -> assertThat(Kafka.read(app.name("versions") + "-out"))
			.extracting(ConsumerRecord::value)
			.containsExactlyElementsOf(replies.stream().map((value) -> "{\"text\":\"re " + value + "\"}").toList()));
	}

	record Reply(String text) {

	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final Batches batches = new Batches();

		@Idempotent(scope = "${prefix}-list")
		@SendTo("${prefix}-list-out")
		@KafkaListener(id = "${prefix}-list", topics = "${prefix}-list", batch = "true")
		List<Reply> list(List<String> values) {
			this.batches.add(values);
			return values.stream().map((value) -> new Reply("re " + value)).toList();
		}

		@Idempotent(scope = "${prefix}-other")
		@SendTo("${prefix}-other-out")
		@KafkaListener(id = "${prefix}-other", topics = "${prefix}-other", batch = "true")
		List<Reply> other(List<String> values) {
			throw new IllegalStateException("nothing is due");
		}

		@Idempotent(scope = "${prefix}-versions", key = "#payload.substring(0, 1)", version = "#payload.substring(1)")
		@SendTo("${prefix}-versions-out")
		@KafkaListener(id = "${prefix}-versions", topics = "${prefix}-versions", batch = "true")
		List<Reply> versions(List<String> values) {
			if (values.contains("b1")) {
				throw new BatchListenerFailedException("refused", new OperationDeclinedException("closed"),
						values.indexOf("b1"));
			}
			return values.stream().map((value) -> new Reply("re " + value)).toList();
		}

	}

}
