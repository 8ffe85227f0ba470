/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.reconcile;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.stream.IntStream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.assertj.core.api.AbstractListAssert;
import org.assertj.core.api.ObjectAssert;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.listener.KafkaListenerErrorHandler;
import org.springframework.kafka.listener.adapter.RecordFilterStrategy;
import org.springframework.kafka.support.converter.RecordMessageConverter;
import org.springframework.kafka.support.converter.StringJacksonJsonMessageConverter;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Idempotent;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.OffsetMark;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the keys to which a reconciliation resolves the records of each kind of
 * listener. The listeners are not started.
 */
class ResolvedKeysTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private static final String TOPIC = Servers.newTopic("resolved", 1);

	private static ConfigurableApplicationContext context;

	private final JdbcIdempotencyStore store = database.store();

	@BeforeAll
	static void start() {
		context = TestApp.of(Listeners.class)
			.database(database.url())
			.with("topic", TOPIC)
			.with("spring.kafka.listener.auto-startup", false)
			.run();
	}

	@AfterAll
	static void stop() {
		context.close();
	}

	private static AbstractListAssert<?, ?, ReconciliationStatus, ObjectAssert<ReconciliationStatus>> statuses(
			String listener, long from, String group, long committed) {
		Kafka.commit(group, TOPIC, committed);
		ReconciliationReport report = context.getBean(Reconciliation.class)
			.run(new ReconciliationRequest(listener, null, null, null, from, null, 100, Duration.ofSeconds(30),
					Duration.ofMinutes(10), true, EnumSet.allOf(ReconciliationStatus.class)), (finding) -> {
					}, (progress) -> {
					});
		assertThat(report.error()).isNull();
		return assertThat(report.findings()).extracting(ReconciliationFinding::status);
	}

	private static long send(String... values) {
		long first = Kafka.read(TOPIC).size();
		for (String value : values) {
			ProducerRecord<String, String> record = new ProducerRecord<>(TOPIC, 0, null, value);
			record.headers().add("tenant", "a".getBytes(StandardCharsets.UTF_8));
			Kafka.send(record);
		}
		return first;
	}

	private void complete(String scope, String key, Long version) {
		ClaimRequest request = new ClaimRequest(IdempotencyKey.of(scope, key), UUID.randomUUID(), null,
				Duration.ofMinutes(1), Duration.ofHours(1), version);
		one(this.store).claim(request);
		one(this.store).complete(request, null);
	}

	@Test
	void payloadIsConvertedAndParametersAreKnown() {
		long first = send("{\"id\":1}", "{\"id\":2}", "no json");
		complete("converted", "a:1", null);
		statuses("converted", first, TOPIC + "-c", first + 3).containsExactly(ReconciliationStatus.COMPLETED,
				ReconciliationStatus.MISSING, ReconciliationStatus.UNRESOLVABLE);
	}

	@ParameterizedTest
	@ValueSource(strings = { "unreadable", "handling" })
	void recordThatCannotBeDeserializedDoesNotEndTheReading(String listener) {
		long first = send("no integer", "four");
		statuses(listener, first, TOPIC + "-u", first + 2).containsExactly(ReconciliationStatus.UNRESOLVABLE,
				ReconciliationStatus.MISSING);
	}

	@ParameterizedTest
	@ValueSource(strings = { "batch", "polled" })
	void recordsOfABatchListenerAreResolvedOneByOne(String listener) {
		long first = send("1", "2");
		complete(listener, "2", null);
		statuses(listener, first, TOPIC + "-" + listener, first + 2).containsExactly(ReconciliationStatus.MISSING,
				ReconciliationStatus.COMPLETED);
	}

	@Test
	void filteredAndExcludedRecordsAreUnprotected() {
		long first = send("filtered", "excluded", "other");
		statuses("filtered", first, TOPIC + "-f", first + 3).containsExactly(ReconciliationStatus.UNPROTECTED,
				ReconciliationStatus.UNPROTECTED, ReconciliationStatus.MISSING);
	}

	@Test
	void recordsThatAreOlderThanTheRetentionMayBeForgotten() {
		long first = Kafka.read(TOPIC).size();
		Kafka.send(new ProducerRecord<>(TOPIC, 0, Instant.now().minus(Duration.ofDays(2)).toEpochMilli(), null, "old"));
		statuses("filtered", first, TOPIC + "-f", first + 1).containsExactly(ReconciliationStatus.EXPIRED);
	}

	@Test
	void recordsWithoutKeysAreComparedWithTheMark() {
		long first = send("1", "2", "3");
		UUID topicId = Kafka.topicId(TOPIC);
		new TransactionTemplate(context.getBean(PlatformTransactionManager.class))
			.executeWithoutResult((status) -> context.getBean(JdbcIdempotencyStore.class)
				.offsetMarks()
				.orElseThrow()
				.raise(List.of(new OffsetMark(TOPIC + "-o/" + TOPIC, TOPIC, topicId, 0, first)), false)
				.get(0));
		statuses("positioned", first, TOPIC + "-o", first + 2).containsExactly(ReconciliationStatus.COMPLETED,
				ReconciliationStatus.MISSING, ReconciliationStatus.NOT_CONSUMED);
	}

	@Test
	void lowerVersionsAreStaleAndHigherOnesMissing() {
		long first = send("1", "2", "3");
		complete("versions", "entity", 2L);
		statuses("versions", first, TOPIC + "-v", first + 3).containsExactly(ReconciliationStatus.STALE,
				ReconciliationStatus.COMPLETED, ReconciliationStatus.MISSING);
	}

	@Test
	void recordsThatAreReadReportNoMissingKeys() {
		long first = send("1");
		try (Logs logs = new Logs()) {
			statuses("keyless", first, TOPIC + "-k", first + 1).containsExactly(ReconciliationStatus.MISSING);
			assertThat(logs.messages("WARN")).noneMatch((message) -> message.contains("no usable idempotency key"));
		}
	}

	@Test
	void listenerWithAnErrorHandlerIsRefused() {
		ReconciliationReport report = context.getBean(Reconciliation.class)
			.run(ReconciliationRequest.of("handled"), (finding) -> {
			}, (progress) -> {
			});
		assertThat(report.state()).isEqualTo(ReconciliationReport.State.FAILED);
		assertThat(report.error()).contains("'handled' has a KafkaListenerErrorHandler");
	}

	@Test
	void rangeEndsAtItsLimit() {
		long first = send(IntStream.range(0, 20).mapToObj(String::valueOf).toArray(String[]::new));
		ReconciliationReport report = context.getBean(Reconciliation.class)
			.run(new ReconciliationRequest("batch", TOPIC, 0, null, first, null, 7, Duration.ofSeconds(30),
					Duration.ofMinutes(10), true, Set.of()), (finding) -> {
					}, (progress) -> {
					});
		assertThat(report.state()).isEqualTo(ReconciliationReport.State.INCOMPLETE);
		assertThat(report.read()).isEqualTo(7);
	}

	record Order(int id) {

	}

	@Configuration(proxyBeanMethods = false)
	@Import(Methods.class)
	static class Listeners {

		@Bean
		RecordMessageConverter converter() {
			return new StringJacksonJsonMessageConverter();
		}

		@Bean
		RecordFilterStrategy<String, String> filter() {
			return (record) -> record.value().equals("filtered");
		}

		@Bean
		KafkaListenerErrorHandler handler() {
			return (message, error) -> null;
		}

	}

	static class Methods {

		@Idempotent(scope = "converted", key = "#tenant + ':' + #payload.id")
		@KafkaListener(id = "converted", topics = "${topic}", groupId = "${topic}-c")
		void converted(Order order, @Header("tenant") String tenant) {
			throw new AssertionError();
		}

		@Idempotent(scope = "batch", key = "#record.value()")
		@KafkaListener(id = "batch", topics = "${topic}", groupId = "${topic}-batch", batch = "true")
		void batch(List<ConsumerRecord<String, String>> records) {
			throw new AssertionError();
		}

		@Idempotent(scope = "polled", key = "#record.value()")
		@KafkaListener(id = "polled", topics = "${topic}", groupId = "${topic}-polled", batch = "true")
		void polled(ConsumerRecords<String, String> records) {
			throw new AssertionError();
		}

		@Idempotent(scope = "filtered", key = "#record.value()", condition = "#record.value() != 'excluded'",
				retention = "1d")
		@KafkaListener(id = "filtered", topics = "${topic}", groupId = "${topic}-f", filter = "filter")
		void filtered(ConsumerRecord<String, String> record) {
			throw new AssertionError();
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET)
		@KafkaListener(id = "positioned", topics = "${topic}", groupId = "${topic}-o")
		void positioned(ConsumerRecord<String, String> record) {
			throw new AssertionError();
		}

		@Idempotent(scope = "versions", key = "#headers['entity'] ?: 'entity'", version = "#record.value()")
		@KafkaListener(id = "versions", topics = "${topic}", groupId = "${topic}-v")
		void versions(ConsumerRecord<String, String> record) {
			throw new AssertionError();
		}

		@Idempotent(scope = "unreadable", key = "#record.value()")
		@KafkaListener(id = "unreadable", topics = "${topic}", groupId = "${topic}-u",
				properties = "value.deserializer=org.apache.kafka.common.serialization.IntegerDeserializer")
		void unreadable(ConsumerRecord<String, Integer> record) {
			throw new AssertionError();
		}

		@Idempotent(scope = "handling", key = "#record.value()")
		@KafkaListener(id = "handling", topics = "${topic}", groupId = "${topic}-u", properties = {
				"value.deserializer=org.springframework.kafka.support.serializer.ErrorHandlingDeserializer",
				"spring.deserializer.value.delegate.class=org.apache.kafka.common.serialization.IntegerDeserializer" })
		void handling(ConsumerRecord<String, Integer> record) {
			throw new AssertionError();
		}

		@Idempotent(scope = "keyless", mode = Mode.LEASED)
		@KafkaListener(id = "keyless", topics = "${topic}", groupId = "${topic}-k")
		void keyless(ConsumerRecord<String, String> record) {
			throw new AssertionError();
		}

		@Idempotent(scope = "handled")
		@KafkaListener(id = "handled", topics = "${topic}", groupId = "${topic}-h", errorHandler = "handler")
		void handled(String value) {
			throw new AssertionError();
		}

	}

}
