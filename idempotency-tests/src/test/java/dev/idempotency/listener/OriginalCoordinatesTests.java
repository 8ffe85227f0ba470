/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.BackOff;
import org.springframework.kafka.annotation.DltHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;
import org.springframework.kafka.listener.RecordInterceptor;
import org.springframework.kafka.support.KafkaHeaders;
import org.springframework.messaging.handler.annotation.Header;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the coordinates that replace the key of retried records and of dead letters.
 */
@Tag("promise-3")
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class OriginalCoordinatesTests {

	private final String prefix = Servers.unique("original");

	private ConfigurableApplicationContext context;

	@BeforeAll
	void start() {
		for (String name : List.of("plain", "buried", "shared", "healing", "limited")) {
			Servers.addTopics(1, topic(name), topic(name) + "-retry", topic(name) + "-dlt");
		}
		this.context = TestApp.of(Listeners.class).with("prefix", this.prefix).run();
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@Test
	@Tag("promise-1")
	void recordsThatCarryCopiedHeadersAreAllProcessed() {
		for (String value : List.of("item 1", "item 2", "item 3")) {
			Kafka.send(derived("plain", value));
		}
		awaitEnd("plain", "plain");
		assertThat(listeners().plain).containsExactly("item 1", "item 2", "item 3");
	}

	@Test
	@Tag("promise-1")
	void collectorOfASharedDeadLetterTopicProcessesTheDeadLetterOfEachGroup() {
		ConsumerRecord<String, String> dead = buried("collected", null);
		ProducerRecord<String, String> other = new ProducerRecord<>(topic("buried") + "-dlt", 0, null, "collected");
		dead.headers().forEach((header) -> other.headers().add(header));
		Kafka.send(other);
		awaitEnd("collector", "buried-dlt");
		assertThat(listeners().collected).filteredOn("collected"::equals).hasSize(2);
	}

	@Test
	void recordThatIsDeadLetteredTwiceRunsTheDeadLetterHandlerTwice() {
		for (String key : new String[] { null, "with-key" }) {
			String value = "dies with " + key;
			ConsumerRecord<String, String> dead = buried(value, key);
			Kafka.send(new ProducerRecord<>(topic("buried"), 0, dead.key(), dead.value(), dead.headers()));
			await().atMost(Duration.ofSeconds(30))
				.untilAsserted(() -> assertThat(listeners().dead).filteredOn(value::equals).hasSize(2));
		}
	}

	@Test
	void retryTopicOfTwoGroupsIsProcessedOnceByEach() {
		Kafka.send(topic("shared"), null, "payment");
		await().atMost(Duration.ofSeconds(30))
			.untilAsserted(() -> assertThat(listeners().failing).containsExactly("payment", "payment"));
		for (String group : List.of("failing", "healthy")) {
			awaitEnd(group, "shared");
			awaitEnd(group + "-retry", "shared-retry");
		}
		assertThat(listeners().healthy).containsExactly("payment");
	}

	@Test
	@Tag("promise-1")
	void recordsThatCarryCopiedHeadersAreAllProcessedOnTheRetryTopic() {
		for (String value : List.of("item 1", "item 2")) {
			Kafka.send(derived("healing", value));
		}
		awaitEnd("healing", "healing");
		awaitEnd("healing-retry", "healing-retry");
		assertThat(listeners().healed).containsExactly("item 1", "item 2");
		// A redelivery.
		ConsumerRecord<String, String> retried = Kafka.read(topic("healing") + "-retry").get(0);
		Kafka.send(new ProducerRecord<>(retried.topic(), 0, retried.key(), retried.value(), retried.headers()));
		awaitEnd("healing-retry", "healing-retry");
		assertThat(listeners().healed).hasSize(2);
	}

	@Test
	@Tag("promise-1")
	void recordsThatFailBeforeTheMethodAreAllProcessedOnTheRetryTopicDespiteCopiedHeaders() {
		for (String value : List.of("item 1", "item 2")) {
			Kafka.send(derived("limited", value));
		}
		for (String value : List.of("item 3", "item 4")) {
			ProducerRecord<String, String> record = new ProducerRecord<>(topic("limited"), 0, null, value);
			record.headers()
				.add("idempotency-coordinates", (topic("limited") + "-0-8@1000").getBytes(StandardCharsets.UTF_8));
			Kafka.send(record);
		}
		awaitEnd("limited", "limited");
		awaitEnd("limited-retry", "limited-retry");
		assertThat(listeners().limited).containsExactly("item 1", "item 2", "item 3", "item 4");
	}

	// Simulates a handler that copies the headers of a record on a retry topic.
	private ProducerRecord<String, String> derived(String name, String value) {
		ProducerRecord<String, String> record = new ProducerRecord<>(topic(name), 0, null, value);
		record.headers()
			.add("kafka_original-topic", topic(name).getBytes(StandardCharsets.UTF_8))
			.add("kafka_original-partition", ByteBuffer.allocate(Integer.BYTES).putInt(0).array())
			.add("kafka_original-offset", ByteBuffer.allocate(Long.BYTES).putLong(7).array())
			.add("kafka_original-timestamp", ByteBuffer.allocate(Long.BYTES).putLong(1000).array());
		return record;
	}

	private ConsumerRecord<String, String> buried(String value, String key) {
		Kafka.send(topic("buried"), key, value);
		await().atMost(Duration.ofSeconds(30)).until(() -> listeners().dead.contains(value));
		return Kafka.read(topic("buried") + "-dlt")
			.stream()
			.filter((record) -> record.value().equals(value))
			.findFirst()
			.orElseThrow();
	}

	private String topic(String name) {
		return this.prefix + "-" + name;
	}

	private void awaitEnd(String group, String name) {
		await().atMost(Duration.ofSeconds(30)).until(() -> Kafka.lag(topic(group), topic(name)) == 0);
	}

	private Listeners listeners() {
		return TestApp.target(this.context, Listeners.class);
	}

	@Configuration(proxyBeanMethods = false)
	@Idempotent(mode = Mode.LEASED)
	static class Listeners {

		private final Queue<String> plain = new ConcurrentLinkedQueue<>();

		private final Queue<String> dead = new ConcurrentLinkedQueue<>();

		private final Queue<String> collected = new ConcurrentLinkedQueue<>();

		private final Queue<String> healed = new ConcurrentLinkedQueue<>();

		private final Queue<String> limited = new ConcurrentLinkedQueue<>();

		private final Queue<String> failing = new ConcurrentLinkedQueue<>();

		private final Queue<String> healthy = new ConcurrentLinkedQueue<>();

		@KafkaListener(topics = "${prefix}-plain", groupId = "${prefix}-plain")
		void plain(String value) {
			this.plain.add(value);
		}

		@RetryableTopic(attempts = "2", backOff = @BackOff(delay = 100))
		@KafkaListener(id = "${prefix}-buried", topics = "${prefix}-buried", groupId = "${prefix}-buried")
		void buried(String value) {
			throw new IllegalStateException("fails");
		}

		@DltHandler
		void dead(String value) {
			this.dead.add(value);
		}

		@KafkaListener(topics = "${prefix}-buried-dlt", groupId = "${prefix}-collector")
		void collect(String value) {
			this.collected.add(value);
		}

		@RetryableTopic(attempts = "2", backOff = @BackOff(delay = 100))
		@KafkaListener(id = "${prefix}-healing", topics = "${prefix}-healing", groupId = "${prefix}-healing")
		void heal(String value, @Header(KafkaHeaders.RECEIVED_TOPIC) String topic) {
			if (!topic.endsWith("retry")) {
				throw new IllegalStateException("fails");
			}
			this.healed.add(value);
		}

		@Bean
		static RecordInterceptor<Object, Object> limiter() {
			return (record, consumer) -> {
				if (record.topic().endsWith("-limited")) {
					throw new IllegalStateException("the limit is reached");
				}
				return record;
			};
		}

		@RetryableTopic(attempts = "2", backOff = @BackOff(delay = 100))
		@KafkaListener(id = "${prefix}-limited", topics = "${prefix}-limited", groupId = "${prefix}-limited")
		void limited(String value) {
			this.limited.add(value);
		}

		@RetryableTopic(attempts = "2", backOff = @BackOff(delay = 100))
		@KafkaListener(id = "${prefix}-failing", topics = "${prefix}-shared", groupId = "${prefix}-failing")
		void failing(String value, @Header(KafkaHeaders.RECEIVED_TOPIC) String topic) {
			this.failing.add(value);
			if (!topic.endsWith("retry")) {
				throw new IllegalStateException("fails");
			}
		}

		@RetryableTopic(attempts = "2", backOff = @BackOff(delay = 100))
		@KafkaListener(id = "${prefix}-healthy", topics = "${prefix}-shared", groupId = "${prefix}-healthy")
		void healthy(String value) {
			this.healthy.add(value);
		}

	}

}
