/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for duplicates on a real broker and PostgreSQL.
 */
class DuplicateTests {

	private static final int KEYS = 50;

	private static final int COPIES = 16;

	@Test
	@Tag("promise-2")
	@Tag("promise-3")
	@Tag("promise-5")
	void copiesInSixteenPartitionsHaveOneEffectPerKeyAndListener() {
		String topic = Servers.newTopic("duplicates", COPIES);
		String other = Servers.newTopic("others", 1);
		for (int key = 0; key < KEYS; key++) {
			for (int partition = 0; partition < COPIES; partition++) {
				Kafka.send(Kafka.record(topic, partition, "k" + key, "v" + key));
			}
			Kafka.send(other, "k" + key, "v" + key);
		}
		String database = Servers.newDatabase();
		JdbcTemplate jdbc = Servers.jdbc(database);
		jdbc.execute("CREATE TABLE effect (listener text, value text)");
		try (ConfigurableApplicationContext context = TestApp.of(Listeners.class)
			.database(database)
			.with("topic", topic)
			.with("other", other)
			.with("spring.datasource.hikari.maximum-pool-size", 50)
			.run()) {
			Listeners listeners = TestApp.target(context, Listeners.class);
			await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> {
				assertThat(Kafka.lag(topic + "-a", topic)).isZero();
				assertThat(Kafka.lag(topic + "-b", topic)).isZero();
				assertThat(listeners.second).hasSize(KEYS);
			});
			assertThat(jdbc.queryForList("SELECT value FROM effect WHERE listener = 'first'", String.class))
				.hasSize(KEYS)
				.doesNotHaveDuplicates();
			assertThat(listeners.second).hasSize(KEYS).doesNotHaveDuplicates();
			assertThat(listeners.leased).hasSize(KEYS).doesNotHaveDuplicates();
			assertThat(listeners.overlaps).isEmpty();
		}
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final JdbcTemplate jdbc;

		final Queue<String> second = new ConcurrentLinkedQueue<>();

		final Queue<String> leased = new ConcurrentLinkedQueue<>();

		final Set<String> running = ConcurrentHashMap.newKeySet();

		final Queue<String> overlaps = new ConcurrentLinkedQueue<>();

		Listeners(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@Idempotent
		@KafkaListener(topics = "${topic}", groupId = "${topic}-a", concurrency = "16")
		void first(String value) {
			run("first" + value, () -> this.jdbc.update("INSERT INTO effect VALUES ('first', ?)", value));
		}

		@Idempotent
		@KafkaListener(topics = "${other}", groupId = "${topic}-a")
		void second(String value) {
			run("second" + value, () -> this.second.add(value));
		}

		@Idempotent(mode = Mode.LEASED)
		@KafkaListener(topics = "${topic}", groupId = "${topic}-b", concurrency = "16")
		void leased(String value) {
			run("leased" + value, () -> this.leased.add(value));
		}

		private void run(String what, Runnable effect) {
			if (!this.running.add(what)) {
				this.overlaps.add(what);
			}
			effect.run();
			this.running.remove(what);
		}

	}

}
