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
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.listener.BatchListenerFailedException;
import org.springframework.kafka.listener.adapter.RecordFilterStrategy;
import org.springframework.kafka.support.Acknowledgment;

import dev.idempotency.Idempotent;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.listener.BatchApp.Batches;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@code BatchAcknowledgment}: an acknowledgment by the method is applied to
 * the delivered records, and takes effect when they are completed.
 */
@Tag("promise-8")
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class BatchAcknowledgmentTests {

	private final Map<String, BatchApp> apps = new ConcurrentHashMap<>();

	@BeforeAll
	void start() {
		for (String ack : List.of("manual", "manual_immediate")) {
			for (String mode : List.of("leased", "transactional")) {
				this.apps.put(ack + " " + mode,
						new BatchApp(Listeners.class, mode, "spring.kafka.listener.ack-mode=" + ack));
			}
		}
	}

	@AfterAll
	void stop() {
		this.apps.values().forEach(BatchApp::close);
	}

	static Stream<String> apps() {
		return Stream.of("manual leased", "manual transactional", "manual_immediate leased",
				"manual_immediate transactional");
	}

	static Stream<String> immediate() {
		return apps().filter((name) -> name.startsWith("manual_immediate"));
	}

	// Of the delivered records, b and e are duplicates.
	private BatchApp run(String app, String name) {
		BatchApp running = this.apps.get(app);
		running.complete(name, "b", null);
		running.complete(name, "e", null);
		running.send(name, "a b c d e");
		running.start(name);
		return running;
	}

	private static List<String> batches(BatchApp app, String name) {
		return app.listeners(Listeners.class).batches.get(name).list();
	}

	@ParameterizedTest
	@MethodSource("apps")
	void acknowledgedBatchIsCompletedAndCommitted(String name) {
		BatchApp app = run(name, "all");
		app.awaitDone("all");
		assertThat(batches(app, "all")).containsExactly("a c d");
	}

	@ParameterizedTest
	@MethodSource("apps")
	void batchOfDuplicatesIsAcknowledgedWithoutCallingTheMethod(String name) {
		BatchApp app = this.apps.get(name);
		app.complete("duplicates", "a", null);
		app.send("duplicates", "a a");
		app.start("duplicates");
		app.awaitDone("duplicates");
		assertThat(app.listeners(Listeners.class).batches).doesNotContainKey("duplicates");
	}

	@ParameterizedTest
	@MethodSource("immediate")
	void acknowledgedPartOfTheBatchIsCompletedAndCommitted(String name) {
		BatchApp app = run(name, "part");
		// Acknowledged up to c, the second record that the method receives and the third
		// delivered one.
		await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> assertThat(app.lag("part")).isEqualTo(2));
		if (name.endsWith("transactional")) {
			assertThat(one(app.store()).find(app.key("part", "d")).map(IdempotencyRecord::state))
				.isNotEqualTo(Optional.of(State.COMPLETED));
		}
	}

	@ParameterizedTest
	@MethodSource("apps")
	@Tag("promise-1")
	void unacknowledgedRecordsAreRedeliveredAndNotCompletedBefore(String name) {
		BatchApp app = run(name, "nack");
		app.awaitDone("nack");
		List<String> batches = batches(app, "nack");
		assertThat(batches.get(0)).isEqualTo("a c d");
		assertThat(batches.get(batches.size() - 1)).isEqualTo("c d");
		assertThat(app.record("nack", "a").attempt()).isEqualTo(1);
		assertThat(app.record("nack", "c").attempt()).isEqualTo(1);
		// In transactional mode the method is called again for a before the redelivery.
		Listeners listeners = app.listeners(Listeners.class);
		assertThat(Duration.ofNanos(listeners.redelivered - listeners.nacked))
			.isGreaterThanOrEqualTo(Listeners.NACK_SLEEP);
	}

	// The container counts the records that the filter has left.
	@ParameterizedTest
	@MethodSource("immediate")
	@Tag("promise-1")
	void acknowledgedPartBehindAFilterCommitsOnlyItsRecords(String name) {
		BatchApp app = this.apps.get(name);
		app.complete("filtered-part", "b", null);
		app.send("filtered-part", "x a x b c d x");
		app.start("filtered-part");
		await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> assertThat(app.lag("filtered-part")).isEqualTo(2));
		app.stop("filtered-part");
		assertThat(app.lag("filtered-part")).isEqualTo(2);
		app.start("filtered-part");
		app.awaitDone("filtered-part");
		// In transactional mode the method is called again for the acknowledged part.
		assertThat(batches(app, "filtered-part")).startsWith("a c d").endsWith("d");
	}

	@ParameterizedTest
	@MethodSource("apps")
	@Tag("promise-1")
	void recordsBehindANackAndAFilterAreRedelivered(String name) {
		BatchApp app = this.apps.get(name);
		app.complete("filtered-nack", "b", null);
		app.send("filtered-nack", "x a x b c d x");
		app.start("filtered-nack");
		app.awaitDone("filtered-nack");
		List<String> batches = batches(app, "filtered-nack");
		assertThat(batches.get(0)).isEqualTo("a c d");
		assertThat(batches.get(batches.size() - 1)).isEqualTo("c d");
	}

	@ParameterizedTest
	@MethodSource("apps")
	@Tag("promise-1")
	void acknowledgmentBeforeAFailureHasNoEffect(String name) {
		BatchApp app = run(name, "failing");
		app.awaitDone("failing");
		assertThat(batches(app, "failing")).containsExactly("a c d", "a c d");
	}

	@ParameterizedTest
	@MethodSource("apps")
	void recordIsDeclinedByAMethodThatDoesNotAcknowledge(String name) {
		BatchApp app = this.apps.get(name);
		app.send("declining", "a b c");
		app.start("declining");
		await().untilAsserted(
				() -> assertThat(one(app.store()).find(app.key("declining", "c")).map(IdempotencyRecord::state))
					.hasValue(State.COMPLETED));
		assertThat(batches(app, "declining")).containsExactlyElementsOf(
				name.endsWith("transactional") ? List.of("a b c", "a c") : List.of("a b c", "c"));
		assertThat(app.record("declining", "b").state()).isEqualTo(State.COMPLETED);
		assertThat(app.record("declining", "b").attempt()).isOne();
	}

	@ParameterizedTest
	@MethodSource("apps")
	@Tag("promise-1")
	void blockedRecordsAreNotAcknowledgedWithTheOthers(String name) {
		BatchApp app = this.apps.get(name);
		ClaimRequest other = app.hold("waiting", "b", Duration.ofMinutes(5));
		app.send("waiting", "a b c", "x");
		app.start("waiting");
		await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> assertThat(app.lag("waiting")).isEqualTo(2));
		one(app.store()).release(other);
		app.awaitDone("waiting");
		assertThat(batches(app, "waiting").stream().flatMap((one) -> Stream.of(one.split(" "))))
			.containsExactlyInAnyOrder("a", "x", "b", "c");
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private static final Duration NACK_SLEEP = Duration.ofSeconds(1);

		private final Map<String, Batches> batches = new ConcurrentHashMap<>();

		private volatile long nacked;

		private volatile long redelivered;

		private int add(String name, List<String> values) {
			return this.batches.computeIfAbsent(name, (unused) -> new Batches()).add(values);
		}

		@Idempotent(scope = "${prefix}-all")
		@KafkaListener(id = "${prefix}-all", topics = "${prefix}-all", batch = "true")
		void all(List<String> values, Acknowledgment acknowledgment) {
			add("all", values);
			acknowledgment.acknowledge();
		}

		@Idempotent(scope = "${prefix}-duplicates")
		@KafkaListener(id = "${prefix}-duplicates", topics = "${prefix}-duplicates", batch = "true")
		void duplicates(List<String> values, Acknowledgment acknowledgment) {
			add("duplicates", values);
			acknowledgment.acknowledge();
		}

		@Idempotent(scope = "${prefix}-declining")
		@KafkaListener(id = "${prefix}-declining", topics = "${prefix}-declining", batch = "true")
		void declining(List<String> values) {
			add("declining", values);
			if (values.contains("b")) {
				throw new BatchListenerFailedException("declined", new OperationDeclinedException("closed"),
						values.indexOf("b"));
			}
		}

		@Idempotent(scope = "${prefix}-part")
		@KafkaListener(id = "${prefix}-part", topics = "${prefix}-part", batch = "true")
		void part(List<String> values, Acknowledgment acknowledgment) {
			add("part", values);
			if (values.size() > 1) {
				acknowledgment.acknowledge(1);
			}
		}

		@Idempotent(scope = "${prefix}-nack")
		@KafkaListener(id = "${prefix}-nack", topics = "${prefix}-nack", batch = "true")
		void nack(List<String> values, Acknowledgment acknowledgment) {
			if (add("nack", values) == 1) {
				this.nacked = System.nanoTime();
				acknowledgment.nack(1, NACK_SLEEP);
			}
			else {
				this.redelivered = System.nanoTime();
				acknowledgment.acknowledge();
			}
		}

		// Not for the other listeners.
		@Bean(autowireCandidate = false)
		static RecordFilterStrategy<Object, Object> withoutX() {
			return (record) -> "x".equals(record.value());
		}

		@Idempotent(scope = "${prefix}-filtered-part")
		@KafkaListener(id = "${prefix}-filtered-part", topics = "${prefix}-filtered-part", batch = "true",
				filter = "withoutX")
		void filteredPart(List<String> values, Acknowledgment acknowledgment) {
			if (add("filtered-part", values) == 1) {
				acknowledgment.acknowledge(1);
			}
			else {
				acknowledgment.acknowledge();
			}
		}

		@Idempotent(scope = "${prefix}-filtered-nack")
		@KafkaListener(id = "${prefix}-filtered-nack", topics = "${prefix}-filtered-nack", batch = "true",
				filter = "withoutX")
		void filteredNack(List<String> values, Acknowledgment acknowledgment) {
			if (add("filtered-nack", values) == 1) {
				acknowledgment.nack(1, Duration.ofMillis(1));
			}
			else {
				acknowledgment.acknowledge();
			}
		}

		@Idempotent(scope = "${prefix}-failing")
		@KafkaListener(id = "${prefix}-failing", topics = "${prefix}-failing", batch = "true")
		void failing(List<String> values, Acknowledgment acknowledgment) {
			acknowledgment.acknowledge();
			if (add("failing", values) == 1) {
				throw new IllegalStateException("after the acknowledgment");
			}
		}

		@Idempotent(scope = "${prefix}-waiting")
		@KafkaListener(id = "${prefix}-waiting", topics = "${prefix}-waiting", batch = "true")
		void waiting(List<String> values, Acknowledgment acknowledgment) {
			add("waiting", values);
			acknowledgment.acknowledge();
		}

	}

}
