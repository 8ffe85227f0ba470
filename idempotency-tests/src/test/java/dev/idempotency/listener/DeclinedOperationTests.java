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
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.kafka.autoconfigure.ConcurrentKafkaListenerContainerFactoryConfigurer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.listener.BatchListenerFailedException;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.kafka.listener.KafkaListenerErrorHandler;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.messaging.handler.annotation.SendTo;

import dev.idempotency.Idempotent;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.listener.BatchApp.Batches;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.DeadLetters;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link OperationDeclinedException} in listeners: the record is acknowledged
 * and the decline replied, and no retry and no dead letter is used.
 */
@Tag("promise-1")
@Tag("promise-8")
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class DeclinedOperationTests {

	private static final List<String> LISTENERS = List.of("auto", "leased", "async", "manual", "manualLeased", "listed",
			"handled", "keyless", "nacked");

	private static final List<String> OWN_TESTS = List.of("keyless", "nacked");

	private final String prefix = Servers.unique("declined");

	private final Map<String, ConfigurableApplicationContext> apps = new ConcurrentHashMap<>();

	@BeforeAll
	void start() {
		for (String store : List.of("jdbc", "redis")) {
			LISTENERS.forEach((name) -> Servers.addTopics(1, topic(store, name), topic(store, name) + "-dead",
					topic(store, name) + "-out"));
			TestApp app = TestApp.of(Listeners.class, DeadLetters.class).with("prefix", this.prefix + "-" + store);
			this.apps.put(store, (store.equals("redis") ? app.redis(Servers.redis()) : app).run());
		}
	}

	@AfterAll
	void stop() {
		this.apps.values().forEach(ConfigurableApplicationContext::close);
	}

	private String topic(String store, String name) {
		return this.prefix + "-" + store + "-" + name;
	}

	static Stream<List<String>> cases() {
		return Stream.concat(
				LISTENERS.stream().filter((name) -> !OWN_TESTS.contains(name)).map((name) -> List.of("jdbc", name)),
				Stream.of(List.of("redis", "auto"), List.of("redis", "async")));
	}

	@ParameterizedTest
	@MethodSource("cases")
	void recordIsAcknowledgedAndItsDuplicateGetsTheSameReply(List<String> storeAndName) {
		String name = storeAndName.get(1);
		String topic = topic(storeAndName.get(0), name);
		ConfigurableApplicationContext app = this.apps.get(storeAndName.get(0));
		Kafka.send(topic, "declined", "first");
		Kafka.send(topic, "declined", "second");
		Kafka.send(topic, "other", "other");
		List<ConsumerRecord<String, String>> replies = await().until(() -> Kafka.read(topic + "-out"),
				(read) -> read.size() >= (name.equals("listed") ? 1 : 3));
		assertThat(replies).extracting(ConsumerRecord::value)
			.containsExactlyElementsOf(
					name.equals("listed") ? List.of("done other") : List.of("no first", "no first", "done other"));
		await().untilAsserted(() -> assertThat(Kafka.lag(topic, topic)).isZero());
		Listeners listeners = TestApp.target(app, Listeners.class);
		assertThat(listeners.runs).filteredOn((run) -> run.startsWith(name + " "))
			.containsExactly(name + " first", name + " other");
		assertThat(Listeners.ERRORS).isEmpty();
		DeadLetters dead = app.getBean(DeadLetters.class);
		assertThat(dead.deliveries(topic)).containsExactly(0L, 1L, 2L);
		assertThat(DeadLetters.read(topic)).isEmpty();
		assertThat(dead.outcomes("DeclinedOperationTests.Listeners." + name)).containsExactly(Outcome.DECLINED,
				Outcome.OTHER_CONTENT, Outcome.PROCESSED);
	}

	@Test
	@Tag("promise-5")
	void writesOfADeclinedHandlerAreRolledBack() {
		JdbcTemplate jdbc = this.apps.get("jdbc").getBean(JdbcTemplate.class);
		String topic = topic("jdbc", "keyless");
		Kafka.send(topic, null, "first");
		Kafka.send(topic, null, "other");
		await().untilAsserted(() -> assertThat(Kafka.lag(topic, topic)).isZero());
		assertThat(jdbc.queryForList("SELECT name FROM declined_effect WHERE name LIKE 'keyless%'", String.class))
			.containsExactly("keyless other");
		assertThat(DeadLetters.read(topic)).isEmpty();
	}

	@Test
	void negativelyAcknowledgedRecordIsRedeliveredAndNotDeclined() {
		String topic = topic("jdbc", "nacked");
		Kafka.send(topic, "nacked", "value");
		await().untilAsserted(
				() -> assertThat(Kafka.read(topic + "-out")).extracting(ConsumerRecord::value).containsExactly("done"));
		assertThat(TestApp.target(this.apps.get("jdbc"), Listeners.class).runs).filteredOn("nacked"::equals).hasSize(2);
	}

	@ParameterizedTest
	@ValueSource(strings = { "leased", "transactional", "redis" })
	void declinedRecordOfABatchLeavesTheOthers(String mode) {
		try (BatchApp app = new BatchApp(BatchListeners.class, mode)) {
			app.send("batch", "a b c d e a");
			app.start("batch");
			app.awaitDone("batch");
			Batches batches = app.listeners(BatchListeners.class).batches;
			assertThat(batches.list()).containsExactlyElementsOf(mode.equals("transactional")
					? List.of("a b c d e", "a c d e", "a c e") : List.of("a b c d e", "c d e", "e"));
			app.sendMore("batch", "b d f");
			app.awaitDone("batch");
			assertThat(batches.list().get(batches.list().size() - 1)).isEqualTo("f");
		}
	}

	@SuppressWarnings("serial")
	static class ClosedException extends Exception {

	}

	static class Listeners {

		static final Queue<String> ERRORS = new ConcurrentLinkedQueue<>();

		final Queue<String> runs = new ConcurrentLinkedQueue<>();

		private final JdbcTemplate jdbc;

		Listeners(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
			jdbc.execute("CREATE TABLE declined_effect (name varchar(100))");
		}

		@Bean
		static ConcurrentKafkaListenerContainerFactory<Object, Object> manualFactory(
				ConcurrentKafkaListenerContainerFactoryConfigurer configurer,
				ConsumerFactory<Object, Object> consumers) {
			ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
			configurer.configure(factory, consumers);
			factory.getContainerProperties().setAckMode(AckMode.MANUAL);
			return factory;
		}

		@Bean
		static KafkaListenerErrorHandler recordingErrorHandler() {
			return (message, exception) -> {
				ERRORS.add(exception.getMessage());
				throw exception;
			};
		}

		private String handle(String name, String value) {
			this.runs.add(name + " " + value);
			this.jdbc.update("INSERT INTO declined_effect VALUES (?)", name + " " + value);
			if (!value.equals("other")) {
				throw new OperationDeclinedException("closed", "no " + value);
			}
			return "done " + value;
		}

		@Idempotent
		@SendTo("${prefix}-auto-out")
		@KafkaListener(topics = "${prefix}-auto", groupId = "${prefix}-auto")
		String auto(String value) {
			return handle("auto", value);
		}

		@Idempotent(mode = Mode.LEASED)
		@SendTo("${prefix}-leased-out")
		@KafkaListener(topics = "${prefix}-leased", groupId = "${prefix}-leased")
		String leased(String value) {
			return handle("leased", value);
		}

		@Idempotent
		@SendTo("${prefix}-async-out")
		@KafkaListener(topics = "${prefix}-async", groupId = "${prefix}-async")
		CompletableFuture<String> async(String value) {
			return CompletableFuture.supplyAsync(() -> handle("async", value));
		}

		@Idempotent
		@SendTo("${prefix}-manual-out")
		@KafkaListener(topics = "${prefix}-manual", groupId = "${prefix}-manual", containerFactory = "manualFactory")
		String manual(String value, Acknowledgment acknowledgment) {
			String result = handle("manual", value);
			acknowledgment.acknowledge();
			return result;
		}

		@Idempotent(mode = Mode.LEASED)
		@SendTo("${prefix}-manualLeased-out")
		@KafkaListener(topics = "${prefix}-manualLeased", groupId = "${prefix}-manualLeased",
				containerFactory = "manualFactory")
		String manualLeased(String value, Acknowledgment acknowledgment) {
			String result = handle("manualLeased", value);
			acknowledgment.acknowledge();
			return result;
		}

		@Idempotent(declineFor = ClosedException.class)
		@SendTo("${prefix}-listed-out")
		@KafkaListener(topics = "${prefix}-listed", groupId = "${prefix}-listed")
		String listed(String value) throws ClosedException {
			this.runs.add("listed " + value);
			if (!value.equals("other")) {
				throw new ClosedException();
			}
			return "done " + value;
		}

		@Idempotent
		@SendTo("${prefix}-handled-out")
		@KafkaListener(topics = "${prefix}-handled", groupId = "${prefix}-handled",
				errorHandler = "recordingErrorHandler")
		String handled(String value) {
			return handle("handled", value);
		}

		@Idempotent
		@SendTo("${prefix}-nacked-out")
		@KafkaListener(topics = "${prefix}-nacked", groupId = "${prefix}-nacked", containerFactory = "manualFactory")
		String nacked(String value, Acknowledgment acknowledgment) {
			this.runs.add("nacked");
			if (this.runs.stream().filter("nacked"::equals).count() == 1) {
				acknowledgment.nack(Duration.ofMillis(50));
				throw new OperationDeclinedException("closed");
			}
			acknowledgment.acknowledge();
			return "done";
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.PROCESS)
		@KafkaListener(topics = "${prefix}-keyless", groupId = "${prefix}-keyless")
		void keyless(String value) {
			this.runs.add("keyless " + value);
			this.jdbc.update("INSERT INTO declined_effect VALUES (?)", "keyless " + value);
			if (!value.equals("other")) {
				throw new OperationDeclinedException("closed");
			}
		}

	}

	static class BatchListeners {

		final Batches batches = new Batches();

		@Idempotent
		@KafkaListener(id = "${prefix}-batch", topics = "${prefix}-batch", groupId = "${prefix}-batch", batch = "true")
		void listen(List<String> letters) {
			this.batches.add(letters);
			for (int i = 0; i < letters.size(); i++) {
				if ("bd".contains(letters.get(i))) {
					throw new BatchListenerFailedException("declined",
							new OperationDeclinedException("closed " + letters.get(i)), i);
				}
			}
		}

	}

}
