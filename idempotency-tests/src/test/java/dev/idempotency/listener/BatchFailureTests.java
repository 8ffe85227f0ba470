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

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.BatchListenerFailedException;
import org.springframework.kafka.listener.DeadLetterPublishingRecoverer;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.Idempotent;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.listener.BatchApp.Batches;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@code BatchInvocation}: the error handler of the application receives the
 * delivered record for which the method has reported a failure.
 */
@Tag("promise-1")
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class BatchFailureTests {

	private static final List<String> MODES = List.of("leased", "transactional", "redis");

	private final Map<String, BatchApp> apps = new ConcurrentHashMap<>();

	@BeforeAll
	void start() {
		for (String mode : MODES) {
			this.apps.put(mode, new BatchApp(Listeners.class, mode));
		}
	}

	@AfterAll
	void stop() {
		this.apps.values().forEach(BatchApp::close);
	}

	static Stream<List<String>> cases() {
		return MODES.stream()
			.flatMap((mode) -> Stream.of("index", "record", "poll").map((name) -> List.of(mode, name)));
	}

	// Of the delivered records, b and c are
	// duplicates. The method receives a, d, e and f.
	@ParameterizedTest
	@MethodSource("cases")
	void failureOfARecordIsMappedToTheDeliveredBatch(List<String> modeAndName) {
		BatchApp app = this.apps.get(modeAndName.get(0));
		String name = modeAndName.get(1);
		Servers.addTopics(1, app.name(name) + "-dlt");
		app.complete(name, "b", null);
		app.complete(name, "c", null);
		app.send(name, "a b c d e f");
		app.start(name);
		app.awaitDone(name);
		boolean again = modeAndName.get(0).equals("transactional");
		assertThat(app.listeners(Listeners.class).batches.get(name).list()).containsExactlyElementsOf(
				again ? List.of("a d e f", "a", "d e f", "d e f", "e f") : List.of("a d e f", "d e f", "d e f", "e f"));
		await().untilAsserted(() -> assertThat(Kafka.read(app.name(name) + "-dlt")).extracting(ConsumerRecord::value)
			.containsExactly("d"));
		assertThat(app.record(name, "a").state()).isEqualTo(State.COMPLETED);
		assertThat(app.record(name, "d").state()).isEqualTo(State.FAILED);
		assertThat(app.record(name, "d").attempt()).isEqualTo(3);
		assertThat(app.record(name, "e").state()).isEqualTo(State.COMPLETED);
		assertThat(app.record(name, "e").attempt()).isEqualTo(1);
		if (again) {
			assertThat(app.listeners(Listeners.class).effects(name)).containsExactly("a", "e", "f");
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "leased", "transactional", "redis" })
	void failureWithoutAnIndexIsOneOfTheWholeBatch(String mode) {
		BatchApp app = this.apps.get(mode);
		app.complete("whole", "b", null);
		Servers.addTopics(1, app.name("whole") + "-dlt");
		app.send("whole", "a b c");
		app.start("whole");
		app.awaitDone("whole");
		assertThat(app.listeners(Listeners.class).batches.get("whole").list()).containsExactly("a c", "a c", "a c");
		// Spring Kafka recovers the whole batch, including the duplicates.
		await().untilAsserted(() -> assertThat(Kafka.read(app.name("whole") + "-dlt")).extracting(ConsumerRecord::value)
			.containsExactly("a", "b", "c"));
		app.listeners(Listeners.class).broken = false;
		Kafka.read(app.name("whole") + "-dlt")
			.forEach((dead) -> Kafka
				.send(new ProducerRecord<>(app.name("whole"), 0, dead.key(), dead.value(), dead.headers())));
		app.awaitDone("whole");
		await().untilAsserted(() -> assertThat(app.listeners(Listeners.class).effects("whole")).contains("a", "c")
			.doesNotContain("b"));
		app.listeners(Listeners.class).broken = true;
	}

	// The commit of the recovered record fails while the group is rebalancing.
	@ParameterizedTest
	@CsvSource({ "leased, rejecting", "transactional, rejecting", "redis, rejecting", "leased, rebalancing" })
	@Tag("promise-9")
	@Tag("promise-10")
	void rejectedRecordIsRecoveredAtOnceAndAlone(String mode, String name) {
		BatchApp app = this.apps.get(mode);
		Servers.addTopics(1, app.name(name) + "-dlt");
		app.send(name, "a - b c");
		app.start(name);
		app.awaitDone(name);
		assertThat(app.listeners(Listeners.class).batches.get(name).list()).containsExactly("a", "b c");
		await().untilAsserted(() -> assertThat(Kafka.read(app.name(name) + "-dlt")).extracting(ConsumerRecord::value)
			.containsExactly("-"));
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final Map<String, Batches> batches = new ConcurrentHashMap<>();

		private final JdbcTemplate jdbc;

		private volatile boolean broken = true;

		Listeners(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
			jdbc.execute("CREATE TABLE effect (name text, value text)");
		}

		List<String> effects(String name) {
			return this.jdbc.queryForList("SELECT value FROM effect WHERE name = ? ORDER BY value", String.class, name);
		}

		private void add(String name, List<String> values) {
			this.batches.computeIfAbsent(name, (unused) -> new Batches()).add(values);
			values.forEach((value) -> this.jdbc.update("INSERT INTO effect VALUES (?, ?)", name, value));
		}

		@Idempotent(scope = "${prefix}-index")
		@KafkaListener(id = "${prefix}-index", topics = "${prefix}-index", batch = "true")
		void index(List<String> values) {
			add("index", values);
			if (values.contains("d")) {
				throw new BatchListenerFailedException("d fails", values.indexOf("d"));
			}
		}

		@Idempotent(scope = "${prefix}-record")
		@KafkaListener(id = "${prefix}-record", topics = "${prefix}-record", batch = "true")
		void record(List<ConsumerRecord<String, String>> records) {
			add("record", records.stream().map(ConsumerRecord::value).toList());
			records.stream().filter((one) -> one.value().equals("d")).findFirst().ifPresent((one) -> {
				throw new IllegalStateException(new BatchListenerFailedException("d fails", one));
			});
		}

		@Idempotent(scope = "${prefix}-poll")
		@KafkaListener(id = "${prefix}-poll", topics = "${prefix}-poll", batch = "true")
		void poll(ConsumerRecords<String, String> records) {
			List<String> values = new java.util.ArrayList<>();
			records.forEach((one) -> values.add(one.value()));
			add("poll", values);
			if (values.contains("d")) {
				throw new BatchListenerFailedException("d fails", values.indexOf("d"));
			}
		}

		@Idempotent(scope = "${prefix}-whole")
		@KafkaListener(id = "${prefix}-whole", topics = "${prefix}-whole", batch = "true")
		void whole(List<String> values) {
			add("whole", values);
			if (this.broken) {
				throw new IllegalStateException("all of it");
			}
		}

		@Idempotent(scope = "${prefix}-rejecting", onMissingKey = MissingKeyPolicy.REJECT)
		@KafkaListener(id = "${prefix}-rejecting", topics = "${prefix}-rejecting", batch = "true")
		void rejecting(List<String> values) {
			add("rejecting", values);
		}

		@Idempotent(scope = "${prefix}-rebalancing", onMissingKey = MissingKeyPolicy.REJECT)
		@KafkaListener(id = "${prefix}-rebalancing", topics = "${prefix}-rebalancing", batch = "true")
		void rebalancing(List<String> values) {
			add("rebalancing", values);
		}

		@Bean
		static DefaultErrorHandler errorHandler(KafkaTemplate<?, ?> kafka) {
			return new DefaultErrorHandler(new DeadLetterPublishingRecoverer(kafka,
					(record, ex) -> new TopicPartition(record.topic() + "-dlt", 0)), new FixedBackOff(0, 2)) {

				// As the commit of the recovered record would do.
				@Override
				public void handleBatch(Exception thrownException, ConsumerRecords<?, ?> data, Consumer<?, ?> consumer,
						MessageListenerContainer container, Runnable invokeListener) {
					super.handleBatch(thrownException, data, consumer, container, invokeListener);
					if (data.partitions().iterator().next().topic().endsWith("-rebalancing")) {
						throw new RebalanceInProgressException();
					}
				}

			};
		}

	}

}
