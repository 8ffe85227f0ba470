/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.docs;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.support.KafkaHeaders;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.stereotype.Component;

import dev.idempotency.IdempotencyKeyReusedException;
import dev.idempotency.Idempotent;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.testsupport.DeadLetters;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Runs the examples of {@code docs/choosing-a-key.md}.
 */
@Tag("promise-10")
@ResourceLock("orders")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class KeyExamplesTests {

	private static final List<String> TOPICS = List.of("orders", "consignments", "invoices", "readings", "reminders",
			"notices");

	private ConfigurableApplicationContext context;

	private JdbcTemplate jdbc;

	@BeforeAll
	void start() {
		TOPICS.forEach((topic) -> Servers.addTopics(1, topic, topic + "-dlt"));
		send("orders", "a-1", "{\"tenant\":\"a\",\"orderId\":7,\"lines\":[1]}", Map.of());
		send("orders", "a-1", "{\"tenant\":\"a\",\"orderId\":7,\"lines\":[1]}", Map.of());
		send("orders", "a-1", "{\"tenant\":\"a\",\"orderId\":7,\"lines\":[2]}", Map.of());
		send("orders", "b-1", "{\"tenant\":\"b\",\"orderId\":7,\"lines\":[1]}", Map.of());
		send("consignments", "s-1", "packed", Map.of());
		send("consignments", "s-1", "sent", Map.of());
		send("consignments", "s-1", "sent", Map.of());
		send("invoices", null, "i", Map.of("ce_source", "/billing", "ce_id", "1"));
		send("invoices", null, "i", Map.of("ce_source", "/billing", "ce_id", "1"));
		send("invoices", null, "i", Map.of("Idempotency-Key", "k", "ce_source", "/billing", "ce_id", "1"));
		send("readings", "sensor 1", "20.5", Map.of("measured-at", "2026-11-25T06:00:00Z"));
		send("readings", "sensor 1", "20.5", Map.of("measured-at", "2026-11-25T07:00:00Z"));
		send("readings", "sensor 1", "20.5", Map.of("measured-at", "2026-11-25T07:00:00Z"));
		send("reminders", null, "no key", Map.of());
		send("reminders", null, "key", Map.of("Idempotency-Key", "r-1"));
		send("notices", null, "private", Map.of("Idempotency-Key", "n-1"));
		send("notices", null, "private", Map.of("Idempotency-Key", "n-1"));
		String database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(database);
		this.context = TestApp.of(KeyExamples.class, FailureConfiguration.class)
			.database(database)
			.with("spring.kafka.producer.value-serializer", AnyFormatSerializer.class.getName())
			.run();
		TOPICS.forEach((topic) -> await().atMost(Duration.ofSeconds(30))
			.untilAsserted(() -> assertThat(Kafka.lag("guide", topic)).isZero()));
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	private static void send(String topic, String key, String value, Map<String, String> headers) {
		ProducerRecord<String, String> record = new ProducerRecord<>(topic, 0, key, value);
		headers.forEach((name, text) -> record.headers().add(name, text.getBytes(StandardCharsets.UTF_8)));
		Kafka.send(record);
	}

	@Test
	void compositeKeySeparatesTenants() {
		assertThat(keys("orders")).containsExactly("a:7", "b:7");
	}

	@Test
	@Tag("promise-9")
	void otherContentUnderAKnownKeyIsADeadLetter() {
		assertThat(Kafka.read("orders-dlt")).singleElement()
			.satisfies((dead) -> assertThat(DeadLetters.header(dead, KafkaHeaders.DLT_EXCEPTION_CAUSE_FQCN))
				.isEqualTo(IdempotencyKeyReusedException.class.getName()));
	}

	@Test
	void keyOfAStepHasTheStep() {
		assertThat(keys("consignments")).containsExactly("s-1/packed", "s-1/sent");
	}

	@Test
	void keyComesFromTheHeaders() {
		assertThat(keys("invoices")).containsExactly("/billing 1", "k");
	}

	@Test
	void keyIsMadeOfARecordKeyAndAHeader() {
		assertThat(keys("readings")).containsExactly("sensor 1@2026-11-25T06:00:00Z", "sensor 1@2026-11-25T07:00:00Z");
	}

	@Test
	void recordWithoutAKeyIsRejected() {
		assertThat(keys("reminders")).containsExactly("r-1");
		assertThat(Kafka.read("reminders-dlt")).extracting(ConsumerRecord::value).containsExactly("no key");
	}

	@Test
	void conditionExcludesRecords() {
		assertThat(keys("notices")).isEmpty();
		assertThat(TestApp.target(this.context, KeyExamples.class).notices).containsExactly("private", "private");
	}

	private List<String> keys(String topic) {
		return this.jdbc.queryForList(
				"SELECT key FROM idempotency_record WHERE scope = ? AND state = 'C' ORDER BY key COLLATE \"C\"",
				String.class, "guide/" + topic);
	}

	@Component
	static class KeyExamples {

		private final Queue<String> notices = new ConcurrentLinkedQueue<>();

		@Idempotent(key = "#payload.tenant + ':' + #payload.orderId", fingerprint = "#payload")
		@KafkaListener(topics = "orders", groupId = "guide",
				properties = {
						"value.deserializer=org.springframework.kafka.support.serializer.JacksonJsonDeserializer",
						"spring.json.value.default.type=dev.idempotency.docs.KeyExamplesTests$KeyExamples$Order" })
		void order(Order order) {
			// The business logic.
		}

		// One operation for each step of a shipment.
		@Idempotent(key = "#record.key() + '/' + #status")
		@KafkaListener(topics = "consignments", groupId = "guide")
		void shipment(String status) {
			// The business logic.
		}

		// The header Idempotency-Key, else the CloudEvents headers ce_source and ce_id.
		@Idempotent
		@KafkaListener(topics = "invoices", groupId = "guide")
		void invoice(String invoice) {
			// The business logic.
		}

		@Idempotent(key = "#record.key() + '@' + #measuredAt", fingerprint = "{#measuredAt, #value}")
		@KafkaListener(topics = "readings", groupId = "guide")
		void reading(String value, @Header("measured-at") String measuredAt) {
			// The business logic.
		}

		// A record without a key is a dead letter.
		@Idempotent(onMissingKey = MissingKeyPolicy.REJECT)
		@KafkaListener(topics = "reminders", groupId = "guide")
		void reminder(String reminder) {
			// The business logic.
		}

		// Only public notices are protected.
		@Idempotent(condition = "#payload.startsWith('public')")
		@KafkaListener(topics = "notices", groupId = "guide")
		void notice(String notice) {
			this.notices.add(notice);
		}

		record Order(String tenant, long orderId, List<Integer> lines) {
		}

	}

}
