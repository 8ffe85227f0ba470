/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
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
import org.springframework.kafka.annotation.BackOff;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.kafka.retrytopic.SameIntervalTopicReuseStrategy;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.messaging.handler.annotation.SendTo;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.StalePolicy;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.DeadLetters;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for listeners whose records have versions.
 */
@Tag("promise-3")
@Tag("promise-8")
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Order(3)
class VersionListenerTests {

	private static final List<String> LISTENERS = List.of("auto", "leased", "async", "manual", "rejecting", "unusable",
			"retried");

	private final String prefix = Servers.unique("version");

	private final Map<String, ConfigurableApplicationContext> apps = new ConcurrentHashMap<>();

	@BeforeAll
	void start() {
		for (String store : List.of("jdbc", "redis")) {
			LISTENERS.forEach((name) -> Servers.addTopics(1, topic(store, name), topic(store, name) + "-dead",
					topic(store, name) + "-out", topic(store, name) + "-retry", topic(store, name) + "-dlt"));
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

	private static void send(String topic, String key, String version, String value) {
		ProducerRecord<String, String> record = new ProducerRecord<>(topic, 0, key, value);
		if (version != null) {
			record.headers().add("version", version.getBytes());
		}
		Kafka.send(record);
	}

	private List<String> runs(String store, String name) {
		return TestApp.target(this.apps.get(store), Listeners.class).runs.stream()
			.filter((run) -> run.startsWith(name + " "))
			.map((run) -> run.substring(name.length() + 1))
			.toList();
	}

	private List<Outcome> outcomes(String store, String name) {
		return this.apps.get(store).getBean(DeadLetters.class).outcomes("VersionListenerTests.Listeners." + name);
	}

	static Stream<List<String>> cases() {
		return Stream.of(List.of("jdbc", "auto"), List.of("jdbc", "leased"), List.of("jdbc", "async"),
				List.of("jdbc", "manual"), List.of("redis", "auto"), List.of("redis", "async"));
	}

	@ParameterizedTest
	@MethodSource("cases")
	void onlyNewerVersionsRun(List<String> storeAndName) {
		String store = storeAndName.get(0);
		String name = storeAndName.get(1);
		String topic = topic(store, name);
		send(topic, "a", "2", "two");
		send(topic, "a", "1", "one");
		send(topic, "b", "1", "other");
		send(topic, "a", "2", "two");
		send(topic, "a", "9", "nine");
		send(topic, "a", "10", "ten");
		await().untilAsserted(() -> assertThat(Kafka.lag(topic, topic)).isZero());
		assertThat(runs(store, name)).containsExactlyInAnyOrder("two", "other", "nine", "ten");
		assertThat(Kafka.read(topic + "-out")).extracting(ConsumerRecord::value)
			.containsExactlyInAnyOrder("done two", "done other", "done two", "done nine", "done ten");
		assertThat(DeadLetters.read(topic)).isEmpty();
		// Asynchronous versions of a key wait for each other.
		await().untilAsserted(
				() -> assertThat(outcomes(store, name)).filteredOn((outcome) -> outcome != Outcome.IN_PROGRESS)
					.containsExactlyInAnyOrder(Outcome.PROCESSED, Outcome.STALE, Outcome.PROCESSED, Outcome.DUPLICATE,
							Outcome.PROCESSED, Outcome.PROCESSED));
	}

	@ParameterizedTest
	@ValueSource(strings = { "jdbc", "redis" })
	void staleRecordIsADeadLetterWithoutRetries(String store) {
		String topic = topic(store, "rejecting");
		send(topic, "a", "2024-05-01T12:00:00.000000002Z", "two");
		send(topic, "a", "2024-05-01T14:00:00.000000001+02:00", "one");
		send(topic, "a", "2024-05-01T12:00:00.000000003Z", "three");
		await().untilAsserted(() -> assertThat(Kafka.lag(topic, topic)).isZero());
		assertThat(runs(store, "rejecting")).containsExactly("two", "three");
		assertThat(DeadLetters.read(topic)).extracting(ConsumerRecord::value).containsExactly("one");
		assertThat(DeadLetters.header(DeadLetters.read(topic).get(0), "kafka_dlt-exception-message"))
			.contains("is stale", "offset 1")
			.doesNotContain("one");
		assertThat(this.apps.get(store).getBean(DeadLetters.class).deliveries(topic)).containsExactly(0L, 1L, 2L);
		assertThat(outcomes(store, "rejecting")).containsExactly(Outcome.PROCESSED, Outcome.STALE, Outcome.PROCESSED);
	}

	@Test
	void recordWithoutAUsableVersionOrKeyIsADeadLetterWithoutRetries() {
		String topic = topic("jdbc", "unusable");
		send(topic, "a", null, "none");
		send(topic, "a", "secret", "text");
		send(topic, "a", "9223372036854775808", "large");
		send(topic, "a", "2024-05-01T12:00:00", "local");
		send(topic, null, "1", "keyless");
		send(topic, "a", "9223372036854775807", "good");
		await().untilAsserted(() -> assertThat(Kafka.lag(topic, topic)).isZero());
		assertThat(runs("jdbc", "unusable")).containsExactly("good");
		List<ConsumerRecord<String, String>> dead = DeadLetters.read(topic);
		assertThat(dead).extracting(ConsumerRecord::value).containsExactly("none", "text", "large", "local", "keyless");
		assertThat(dead).extracting((record) -> DeadLetters.header(record, "kafka_dlt-exception-message"))
			.noneMatch((message) -> message.contains("secret"))
			.anyMatch((message) -> message.contains("The version '#headers['version']' yields null"))
			.anyMatch((message) -> message.contains("yields an unsuitable java.lang.String"));
		assertThat(this.apps.get("jdbc").getBean(DeadLetters.class).deliveries(topic)).hasSize(6);
	}

	// Version 2 waits on its retry topic while version 3 completes.
	@ParameterizedTest
	@ValueSource(strings = { "jdbc", "redis" })
	void retriedVersionDoesNotRunOverANewerOne(String store) {
		String topic = topic(store, "retried");
		send(topic, "a", "2", "fails");
		send(topic, "a", "3", "three");
		// Retries may arrive before version 3, and while it runs.
		Set<Outcome> early = Set.of(Outcome.FAILED, Outcome.IN_PROGRESS);
		await().untilAsserted(() -> assertThat(outcomes(store, "retried")).startsWith(Outcome.FAILED)
			.filteredOn((outcome) -> !early.contains(outcome))
			.containsExactly(Outcome.PROCESSED, Outcome.STALE));
		assertThat(runs(store, "retried")).startsWith("fails").endsWith("three").containsOnlyOnce("three");
		assertThat(Kafka.read(topic + "-dlt")).isEmpty();
	}

	@ParameterizedTest
	@ValueSource(strings = { "leased", "transactional", "redis" })
	void batchGetsTheHighestVersionOfEachKey(String mode) {
		try (BatchApp app = new BatchApp(BatchListeners.class, mode)) {
			app.send("batch", "a3 b1 a5 c1 a4 b2");
			app.start("batch");
			app.awaitDone("batch");
			app.sendMore("batch", "a4 a6 c1");
			app.awaitDone("batch");
			assertThat(app.listeners(BatchListeners.class).batches.list()).first().isEqualTo("a5 c1 b2");
			assertThat(String.join(" ", app.listeners(BatchListeners.class).batches.list())).isEqualTo("a5 c1 b2 a6");
		}
	}

	static class Listeners {

		private static final String KEY = "#record.key()";

		private static final String VERSION = "#headers['version']";

		final Queue<String> runs = new ConcurrentLinkedQueue<>();

		@Bean
		static ConcurrentKafkaListenerContainerFactory<Object, Object> manualFactory(
				ConcurrentKafkaListenerContainerFactoryConfigurer configurer,
				ConsumerFactory<Object, Object> consumers) {
			ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
			configurer.configure(factory, consumers);
			factory.getContainerProperties().setAckMode(AckMode.MANUAL);
			return factory;
		}

		private String handle(String name, String value) {
			this.runs.add(name + " " + value);
			return "done " + value;
		}

		@Idempotent(key = KEY, version = VERSION)
		@SendTo("${prefix}-auto-out")
		@KafkaListener(topics = "${prefix}-auto", groupId = "${prefix}-auto")
		String auto(String value) {
			return handle("auto", value);
		}

		@Idempotent(key = KEY, version = VERSION, mode = Mode.LEASED)
		@SendTo("${prefix}-leased-out")
		@KafkaListener(topics = "${prefix}-leased", groupId = "${prefix}-leased")
		String leased(String value) {
			return handle("leased", value);
		}

		@Idempotent(key = KEY, version = VERSION)
		@SendTo("${prefix}-async-out")
		@KafkaListener(topics = "${prefix}-async", groupId = "${prefix}-async")
		CompletableFuture<String> async(String value) {
			return CompletableFuture.completedFuture(handle("async", value));
		}

		@Idempotent(key = KEY, version = VERSION, mode = Mode.LEASED)
		@SendTo("${prefix}-manual-out")
		@KafkaListener(topics = "${prefix}-manual", groupId = "${prefix}-manual", containerFactory = "manualFactory")
		String manual(String value, Acknowledgment acknowledgment) {
			acknowledgment.acknowledge();
			return handle("manual", value);
		}

		@Idempotent(key = KEY, version = VERSION, onStale = StalePolicy.REJECT)
		@KafkaListener(topics = "${prefix}-rejecting", groupId = "${prefix}-rejecting")
		void rejecting(String value) {
			handle("rejecting", value);
		}

		@Idempotent(key = KEY, version = VERSION)
		@KafkaListener(topics = "${prefix}-unusable", groupId = "${prefix}-unusable")
		void unusable(String value) {
			handle("unusable", value);
		}

		@Idempotent(key = KEY, version = VERSION)
		@RetryableTopic(attempts = "50", backOff = @BackOff(delay = 500), autoCreateTopics = "false",
				sameIntervalTopicReuseStrategy = SameIntervalTopicReuseStrategy.SINGLE_TOPIC)
		@KafkaListener(id = "${prefix}-retried", topics = "${prefix}-retried", groupId = "${prefix}-retried")
		void retried(String value) {
			handle("retried", value);
			if (value.equals("fails")) {
				throw new IllegalStateException("fails");
			}
		}

	}

	static class BatchListeners {

		final BatchApp.Batches batches = new BatchApp.Batches();

		@Idempotent(key = "#payload.substring(0, 1)", version = "#payload.substring(1)")
		@KafkaListener(id = "${prefix}-batch", topics = "${prefix}-batch", groupId = "${prefix}-batch", batch = "true")
		void listen(List<String> letters) {
			this.batches.add(letters);
		}

	}

}
