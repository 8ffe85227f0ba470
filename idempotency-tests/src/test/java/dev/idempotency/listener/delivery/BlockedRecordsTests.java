/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.delivery;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.TimeGauge;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.listener.BatchApp;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.Observers;
import dev.idempotency.template.OperationObserver;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.template.TransactionBoundary;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link BlockedRecords}: a record that waits is visible.
 */
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class BlockedRecordsTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private BatchApp app;

	@BeforeAll
	void start() {
		this.app = new BatchApp(new Class<?>[] { Listeners.class, Waiting.class }, "leased");
	}

	@AfterAll
	void stop() {
		this.app.close();
	}

	@ParameterizedTest
	@ValueSource(strings = { "single", "batch", "async" })
	void ageOfABlockedRecordEndsWhenItIsProcessed(String name) {
		ClaimRequest owner = hold(name);
		this.app.send(name, "a b c");
		this.app.start(name);
		TimeGauge age = age(name);
		await().until(() -> age.value(TimeUnit.SECONDS) > 1);
		one(this.app.store()).complete(owner, null);
		this.app.awaitDone(name);
		assertThat(age.value(TimeUnit.SECONDS)).isZero();
	}

	@Test
	void ageEndsWhenTheContainerStops() {
		hold("stopped");
		this.app.send("stopped", "a b c");
		this.app.start("stopped");
		TimeGauge age = age("stopped");
		await().until(() -> age.value(TimeUnit.SECONDS) > 0);
		this.app.stop("stopped");
		assertThat(age.value(TimeUnit.SECONDS)).isZero();
	}

	@Test
	void ageEndsWhenTheKeyIsEvicted() {
		hold("evicted");
		this.app.send("evicted", "a b c");
		this.app.start("evicted");
		TimeGauge age = age("evicted");
		await().until(() -> age.value(TimeUnit.SECONDS) > 0);
		this.app.bean(IdempotencyTemplate.class).admin().evict(this.app.key("evicted", "b"), true, null);
		this.app.awaitDone("evicted");
		assertThat(age.value(TimeUnit.SECONDS)).isZero();
	}

	@Test
	void recordWaitsWhereItsPartitionIsAfterARebalance() {
		hold("moved");
		this.app.hold("moved", "e", Duration.ofMinutes(5));
		this.app.send("moved", "a b c", "d e f");
		this.app.start("moved");
		Waiting before = this.app.bean(Waiting.class);
		String topic = this.app.name("moved");
		await().until(() -> before.partitions(topic), (partitions) -> partitions.size() == 2);
		try (BatchApp other = this.app.another(new Class<?>[] { Listeners.class, Waiting.class }, "leased")) {
			other.start("moved");
			Waiting after = other.bean(Waiting.class);
			await().atMost(Duration.ofSeconds(40)).untilAsserted(() -> {
				assertThat(before.partitions(topic)).hasSize(1);
				assertThat(after.partitions(topic)).hasSize(1).doesNotContainAnyElementsOf(before.partitions(topic));
			});
		}
		this.app.stop("moved");
		assertThat(before.partitions(topic)).isEmpty();
	}

	@Test
	void recordBehindABlockedOneEndsItsAge() {
		Waiting waiting = new Waiting();
		try (IdempotencyTemplate template = new IdempotencyTemplate(database.store(),
				new Settings(null, false, Observers.none()))) {
			BlockedRecords records = new BlockedRecords(Duration.ofMinutes(1));
			records.blocked(record(17), null, new OperationInProgressException("in progress", Duration.ZERO),
					settings(template, new Observers(List.of(waiting), List.of())));
			records.passed(List.of(record(16)));
			assertThat(waiting.partitions("topic")).as("a record before it, after a seek").containsExactly(3);
			records.passed(List.of(record(18)));
			assertThat(waiting.partitions("topic")).as("a record behind it, after a seek").isEmpty();
		}
	}

	private static ConsumerRecord<String, String> record(long offset) {
		return new ConsumerRecord<>("topic", 3, offset, null, "secret");
	}

	private static ListenerSettings settings(IdempotencyTemplate template, Observers observers) {
		return new ListenerSettings("BlockedRecordsTests.pay", Mode.LEASED, TransactionBoundary.DEFAULT,
				TestDatabase.LEASE, Duration.ofHours(1), null, ResultCodec.none(), template, TestDatabase.TIMEOUT,
				new DeclinedFailures(List.of()), observers);
	}

	private ClaimRequest hold(String name) {
		return this.app.hold(name, "b", Duration.ofMinutes(5));
	}

	private TimeGauge age(String name) {
		MeterRegistry registry = this.app.listeners(Listeners.class).registry;
		return await().until(() -> registry.find("idempotency.blocked.age")
			.tag("listener", "BlockedRecordsTests.Listeners." + name)
			.timeGauge(), (gauge) -> gauge != null);
	}

	@Test
	void recordThatWaitsIsLoggedOncePerInterval() {
		IdempotencyKey key = TestDatabase.newKey();
		one(database.store()).claim(TestDatabase.request(key));
		try (IdempotencyTemplate template = new IdempotencyTemplate(database.store(),
				new Settings(null, false, Observers.none())); Logs logs = Logs.about("BlockedRecordsTests.pay")) {
			ListenerSettings settings = settings(template, Observers.none());
			BlockedRecords records = new BlockedRecords(Duration.ofSeconds(1));
			ConsumerRecord<String, String> record = record(17);
			OperationInProgressException reason = new OperationInProgressException("in progress", Duration.ZERO);
			await().pollInterval(Duration.ofMillis(20)).until(() -> {
				records.blocked(record, key, reason, settings);
				return !logs.messages("WARN").isEmpty();
			});
			records.blocked(record, key, reason, settings);
			assertThat(logs.messages("WARN")).singleElement()
				.asString()
				.containsPattern(
						"has waited for \\d+ s at topic topic, partition 3, offset 17, key '" + key.value() + "'")
				.contains("state of the key is IN_PROGRESS, its attempt is 1, its fencing token is 1",
						"the lease of its owner ends at")
				.doesNotContain("secret");
			await().pollInterval(Duration.ofMillis(20)).until(() -> {
				records.blocked(record, null, new IdempotencyStoreUnavailableException("no answer", null), settings);
				return logs.messages("WARN").size() == 2;
			});
			assertThat(logs.messages("WARN").get(1)).endsWith("offset 17: no answer");
			records.revoked(List.of(new TopicPartition("topic", 3)));
			records.blocked(record, key, reason, settings);
			assertThat(logs.messages("WARN")).hasSize(2);
		}
	}

	static class Listeners {

		final MeterRegistry registry;

		Listeners(MeterRegistry registry) {
			this.registry = registry;
		}

		@Idempotent(scope = "${prefix}-single")
		@KafkaListener(id = "${prefix}-single", topics = "${prefix}-single", groupId = "${prefix}-single")
		void single(String value) {
		}

		@Idempotent(scope = "${prefix}-stopped")
		@KafkaListener(id = "${prefix}-stopped", topics = "${prefix}-stopped", groupId = "${prefix}-stopped")
		void stopped(String value) {
		}

		@Idempotent(scope = "${prefix}-evicted")
		@KafkaListener(id = "${prefix}-evicted", topics = "${prefix}-evicted", groupId = "${prefix}-evicted")
		void evicted(String value) {
		}

		@Idempotent(scope = "${prefix}-moved")
		@KafkaListener(id = "${prefix}-moved", topics = "${prefix}-moved", groupId = "${prefix}-moved")
		void moved(String value) {
		}

		@Idempotent(scope = "${prefix}-batch")
		@KafkaListener(id = "${prefix}-batch", topics = "${prefix}-batch", groupId = "${prefix}-batch", batch = "true")
		void batch(List<String> values) {
		}

		@Idempotent(scope = "${prefix}-async", mode = Mode.LEASED)
		@KafkaListener(id = "${prefix}-async", topics = "${prefix}-async", groupId = "${prefix}-async")
		CompletableFuture<Void> async(String value) {
			return CompletableFuture.completedFuture(null);
		}

	}

	/**
	 * The records that are blocked in one instance of the application.
	 */
	static class Waiting implements OperationObserver {

		private final Set<BlockedRecord> records = ConcurrentHashMap.newKeySet();

		@Override
		public void blocked(BlockedRecord record) {
			this.records.add(record);
		}

		@Override
		public void unblocked(BlockedRecord record) {
			this.records.remove(record);
		}

		List<Integer> partitions(String topic) {
			return this.records.stream()
				.filter((record) -> record.topic().equals(topic))
				.map(BlockedRecord::partition)
				.toList();
		}

	}

}
