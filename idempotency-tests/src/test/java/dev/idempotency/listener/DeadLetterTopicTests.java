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
import java.util.concurrent.ConcurrentLinkedQueue;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Scope;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.DeadLetters;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for an idempotent listener of a dead-letter topic that is registered while the
 * application runs.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class DeadLetterTopicTests {

	private final String topic = DeadLetters.newTopic("letters");

	private ConfigurableApplicationContext context;

	private JdbcTemplate jdbc;

	@BeforeAll
	void start() {
		String database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(database);
		this.context = TestApp.of(Listeners.class, DeadLetters.class)
			.database(database)
			.with("topic", this.topic)
			.run();
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@Test
	@Tag("promise-3")
	void recordIsTheSameOperationOnTheDeadLetterTopicInASharedScope() {
		Kafka.send(this.topic, "letter", "value");
		await().atMost(Duration.ofSeconds(30)).until(() -> Kafka.lag(this.topic, this.topic) == 0);
		this.context.getBean(Late.class);
		await().atMost(Duration.ofSeconds(30)).until(() -> Kafka.lag(this.topic, this.topic + "-dead") == 0);
		ConsumerRecord<String, String> dead = DeadLetters.read(this.topic).get(0);
		Kafka.send(new ProducerRecord<>(this.topic + "-dead", 0, dead.key(), dead.value(), dead.headers()));
		Kafka.send(new ProducerRecord<>(this.topic, 0, dead.key(), dead.value(), dead.headers()));
		await().atMost(Duration.ofSeconds(30)).until(() -> Kafka.lag(this.topic, this.topic + "-dead") == 0);
		await().atMost(Duration.ofSeconds(30)).until(() -> Kafka.lag(this.topic, this.topic) == 0);
		Queue<String> seen = this.context.getBean(Seen.class).seen;
		assertThat(seen).containsExactly("main", "main", "main", "main", "main", "main", "late");
		List<Map<String, Object>> records = this.jdbc
			.queryForList("SELECT key, state::text, attempt FROM idempotency_record");
		assertThat(records).singleElement()
			.satisfies((record) -> assertThat(record).containsEntry("state", "C").containsEntry("attempt", 7));
		assertThat(records.get(0)).containsEntry("key", "letter");
	}

	static class Seen {

		final Queue<String> seen = new ConcurrentLinkedQueue<>();

	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		@Bean
		static Seen seen() {
			return new Seen();
		}

		@Bean
		Main main(Seen seen) {
			return new Main(seen);
		}

		@Bean
		@Scope(BeanDefinition.SCOPE_PROTOTYPE)
		Late late(Seen seen) {
			return new Late(seen);
		}

	}

	static class Main {

		private final Seen seen;

		Main(Seen seen) {
			this.seen = seen;
		}

		@Idempotent(scope = "letters")
		@KafkaListener(topics = "${topic}", groupId = "${topic}")
		void main(String value) {
			this.seen.seen.add("main");
			throw new IllegalStateException("fails");
		}

	}

	static class Late {

		private final Seen seen;

		Late(Seen seen) {
			this.seen = seen;
		}

		@Idempotent(scope = "letters")
		@KafkaListener(topics = "${topic}-dead", groupId = "${topic}")
		void late(String value) {
			this.seen.seen.add("late");
		}

	}

}
