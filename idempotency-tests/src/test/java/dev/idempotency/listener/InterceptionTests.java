/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.messaging.handler.annotation.SendTo;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for interceptors, filters, customizers and error handlers of the application:
 * their behavior does not change, and each key has one effect.
 */
@Tag("promise-8")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class InterceptionTests {

	private static final List<String> LISTENERS = List.of("bean", "factory", "filtered", "discarded", "customized",
			"swallowed", "replied");

	private final String prefix = Servers.unique("interception");

	private ConfigurableApplicationContext context;

	private InterceptionLog log;

	private JdbcTemplate jdbc;

	// Each topic has two copies of two keys, a dropped record and a failing record.
	@BeforeAll
	void start() {
		for (String name : LISTENERS) {
			Servers.addTopics(1, topic(name), topic(name) + "-out");
			for (String value : List.of("a", "a", "turned-away", "fails", "b", "b")) {
				Kafka.send(topic(name), name + value, value);
			}
		}
		String database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(database);
		this.context = TestApp.of(Listeners.class, InterceptionConfiguration.class)
			.database(database)
			.with("prefix", this.prefix)
			.run();
		this.log = this.context.getBean(InterceptionLog.class);
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@Test
	void recordInterceptorBeanReceivesEveryDeliveryAndMayDropRecords() {
		assertThat(seen("bean")).containsExactly("a", "fails", "fails", "b");
		assertThat(this.log.of("interceptor bean")).containsExactly("a", "a", "turned-away", "fails", "fails", "b",
				"b");
		assertThat(records("bean")).containsExactly("beana C", "beanb C", "beanfails F");
	}

	@Test
	void recordInterceptorOfFactoryMayThrow() {
		assertThat(seen("factory")).containsExactly("a", "fails", "fails", "b");
		// The error handler retries the refused records and then recovers them.
		assertThat(this.log.of("interceptor factory")).containsExactly("a", "a", "turned-away", "turned-away", "fails",
				"fails", "b", "b");
		assertThat(records("factory")).containsExactly("factorya C", "factoryb C", "factoryfails F");
	}

	@Test
	void filteredRecordsAreNotStored() {
		assertThat(seen("filtered")).containsExactly("a", "fails", "fails", "b");
		assertThat(records("filtered")).containsExactly("filtereda C", "filteredb C", "filteredfails F");
	}

	@Test
	void filteredRecordsAreAcknowledgedWithManualAcknowledgment() {
		assertThat(seen("discarded")).containsExactly("a", "fails", "fails", "b");
		assertThat(records("discarded")).containsExactly("discardeda C", "discardedb C", "discardedfails F");
	}

	@Test
	void customizersReceiveTheContainerBeforeItIsProtected() {
		assertThat(seen("customized")).containsExactly("a", "turned-away", "fails", "fails", "b");
		assertThat(this.log.of("customizer")).contains("customized RecordMessagingMessageListenerAdapter");
		assertThat(this.log.of("post-processor")).containsExactly("customized RecordMessagingMessageListenerAdapter");
	}

	@Test
	@Tag("promise-1")
	void keyOfASwallowedFailureIsReleasedAndTheRecordAcknowledged() {
		// The application recovers the record, so it is not redelivered.
		assertThat(seen("swallowed")).containsExactly("a", "turned-away", "fails", "b");
		assertThat(records("swallowed")).contains("swallowedfails F");
		Kafka.send(topic("swallowed"), "swallowedfails", "heals");
		assertThat(seen("swallowed")).endsWith("heals");
		assertThat(records("swallowed")).contains("swallowedfails C");
	}

	@Test
	void replyOfTheListenerErrorHandlerIsSentButNotStored() {
		assertThat(seen("replied")).containsExactly("a", "turned-away", "fails", "b");
		// Spring Kafka commits the offset without waiting for the reply.
		await().atMost(Duration.ofSeconds(30))
			.untilAsserted(() -> assertThat(Kafka.read(topic("replied") + "-out")).extracting(ConsumerRecord::value)
				.containsExactly("done a", "done a", "done turned-away", "sorry", "done b", "done b"));
		assertThat(records("replied")).contains("repliedfails F");
	}

	private List<String> seen(String name) {
		await().atMost(Duration.ofSeconds(30))
			.untilAsserted(() -> assertThat(Kafka.lag(this.prefix, topic(name))).isZero());
		return List.copyOf(this.log.of(name));
	}

	private List<String> records(String name) {
		return this.jdbc.queryForList(
				"SELECT key || ' ' || state::text FROM idempotency_record WHERE key LIKE ? ORDER BY key", String.class,
				name + "%");
	}

	private String topic(String name) {
		return this.prefix + "-" + name;
	}

	static class Listeners {

		private final InterceptionLog log;

		Listeners(InterceptionLog log) {
			this.log = log;
		}

		@Idempotent
		@KafkaListener(topics = "${prefix}-bean", groupId = "${prefix}")
		void bean(String value) {
			handle("bean", value);
		}

		@Idempotent
		@KafkaListener(topics = "${prefix}-factory", groupId = "${prefix}", containerFactory = "intercepting")
		void factory(String value) {
			handle("factory", value);
		}

		@Idempotent
		@KafkaListener(topics = "${prefix}-filtered", groupId = "${prefix}", containerFactory = "filtering")
		void filtered(String value) {
			handle("filtered", value);
		}

		@Idempotent
		@KafkaListener(topics = "${prefix}-discarded", groupId = "${prefix}", containerFactory = "discarding")
		void discarded(String value, Acknowledgment acknowledgment) {
			handle("discarded", value);
			acknowledgment.acknowledge();
		}

		@Idempotent
		@KafkaListener(id = "customized", topics = "${prefix}-customized", groupId = "${prefix}",
				containerPostProcessor = "postProcessor")
		void customized(String value) {
			handle("customized", value);
		}

		@Idempotent
		@KafkaListener(topics = "${prefix}-swallowed", groupId = "${prefix}", errorHandler = "swallow")
		void swallowed(String value) {
			handle("swallowed", value);
		}

		@Idempotent
		@SendTo("${prefix}-replied-out")
		@KafkaListener(topics = "${prefix}-replied", groupId = "${prefix}", errorHandler = "reply")
		String replied(String value) {
			handle("replied", value);
			return "done " + value;
		}

		private void handle(String name, String value) {
			this.log.of(name).add(value);
			if (value.equals("fails")) {
				throw new IllegalStateException("fails");
			}
		}

	}

}
