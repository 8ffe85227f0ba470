/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.time.Duration;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.annotation.KafkaHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.support.KafkaHeaders;
import org.springframework.kafka.support.converter.JacksonJsonMessageConverter;
import org.springframework.messaging.Message;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.messaging.handler.annotation.Headers;
import org.springframework.messaging.handler.annotation.Payload;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.DeadLetters;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link ListenerParameters}: a second copy is skipped whatever the method
 * looks like.
 */
@Tag("promise-8")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ListenerShapesTests {

	private final String prefix = Servers.unique("shapes");

	private ConfigurableApplicationContext context;

	@BeforeAll
	void start() {
		for (String shape : new String[] { "payload", "record", "message", "headers", "consumer", "class", "meta",
				"placeholder", "condition" }) {
			Servers.addTopics(1, topic(shape));
			send(shape, "h1", "o1");
			send(shape, "h2", "o1");
			send(shape, "h3", "o2");
		}
		this.context = TestApp.of(Listeners.class, ClassListener.class, Runs.class, DeadLetters.class)
			.with("prefix", this.prefix)
			.with("key-expression", "#order.id()")
			.run();
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@ParameterizedTest
	@ValueSource(strings = { "payload", "record", "message", "headers", "consumer", "class", "meta", "placeholder" })
	void secondCopyIsSkipped(String shape) {
		assertThat(runs(shape)).containsExactly("o1", "o2");
	}

	@Test
	void recordsThatTheConditionExcludesRunWithoutProtection() {
		assertThat(runs("condition")).containsExactly("o1", "o1", "o2");
	}

	private Queue<String> runs(String shape) {
		await().atMost(Duration.ofSeconds(30))
			.untilAsserted(() -> assertThat(Kafka.lag(this.prefix, topic(shape))).isZero());
		return this.context.getBean(Runs.class).of(shape);
	}

	private void send(String shape, String header, String id) {
		Kafka.send(topic(shape), header, "{\"id\":\"" + id + "\",\"amount\":1}");
	}

	private String topic(String shape) {
		return this.prefix + "-" + shape;
	}

	record Order(String id, int amount) {
	}

	static class Runs {

		private final Map<String, Queue<String>> runs = new ConcurrentHashMap<>();

		@Bean
		static JacksonJsonMessageConverter converter() {
			return new JacksonJsonMessageConverter();
		}

		Queue<String> of(String shape) {
			return this.runs.computeIfAbsent(shape, (name) -> new ConcurrentLinkedQueue<>());
		}

	}

	@Retention(RetentionPolicy.RUNTIME)
	@Idempotent(key = "#payload.id()")
	@interface OncePerOrder {

	}

	static class Listeners {

		private final Runs runs;

		Listeners(Runs runs) {
			this.runs = runs;
		}

		@Idempotent(key = "#payload.id()")
		@KafkaListener(topics = "${prefix}-payload", groupId = "${prefix}")
		void payload(Order order) {
			this.runs.of("payload").add(order.id());
		}

		@Idempotent(key = "#record.value().substring(7, 9)")
		@KafkaListener(topics = "${prefix}-record", groupId = "${prefix}")
		void record(ConsumerRecord<String, String> record) {
			this.runs.of("record").add(record.value().substring(7, 9));
		}

		@Idempotent(key = "#payload.id() + #message.payload.amount()")
		@KafkaListener(topics = "${prefix}-message", groupId = "${prefix}")
		void message(Message<Order> message) {
			this.runs.of("message").add(message.getPayload().id());
		}

		@Idempotent(key = "#payload.id() + #topic + #all['kafka_receivedPartitionId']")
		@KafkaListener(topics = "${prefix}-headers", groupId = "${prefix}")
		void headers(@Header(KafkaHeaders.RECEIVED_TOPIC) String topic, @Headers Map<String, Object> all,
				@Payload Order body) {
			this.runs.of("headers").add(body.id());
		}

		@Idempotent(key = "#payload.id()")
		@KafkaListener(topics = "${prefix}-consumer", groupId = "${prefix}")
		void consumer(Consumer<?, ?> consumer, Order order, ConsumerRecord<String, String> record) {
			this.runs.of("consumer").add(order.id());
		}

		@OncePerOrder
		@KafkaListener(topics = "${prefix}-meta", groupId = "${prefix}")
		void meta(Order order) {
			this.runs.of("meta").add(order.id());
		}

		@Idempotent(key = "${key-expression}", scope = "${prefix}")
		@KafkaListener(topics = "${prefix}-placeholder", groupId = "${prefix}")
		void placeholder(Order order) {
			this.runs.of("placeholder").add(order.id());
		}

		@Idempotent(key = "#payload.id()", condition = "#payload.amount() > 10")
		@KafkaListener(topics = "${prefix}-condition", groupId = "${prefix}")
		void condition(Order order) {
			this.runs.of("condition").add(order.id());
		}

	}

	// A listener on a class has no one type that the converter could infer.
	@Idempotent(key = "#payload['id']")
	@KafkaListener(topics = "${prefix}-class", groupId = "${prefix}")
	static class ClassListener {

		private final Runs runs;

		ClassListener(Runs runs) {
			this.runs = runs;
		}

		@KafkaHandler(isDefault = true)
		void handle(Map<String, Object> order) {
			this.runs.of("class").add((String) order.get("id"));
		}

	}

}
