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
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.resilience.annotation.EnableResilientMethods;
import org.springframework.resilience.annotation.Retryable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Idempotent;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.testsupport.DeadLetters;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for Spring's {@code @Retryable} on a listener method. Its advice is always the
 * outermost, so each attempt claims the key.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ResilientMethodTests {

	private final String prefix = Servers.unique("resilient");

	private ConfigurableApplicationContext context;

	private JdbcTemplate jdbc;

	@BeforeAll
	void start() {
		Servers.addTopics(1, this.prefix + "-transactional", this.prefix + "-leased");
		String database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(database);
		this.context = TestApp.of(Listeners.class, DeadLetters.class)
			.database(database)
			.with("prefix", this.prefix)
			.run();
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@ParameterizedTest
	@ValueSource(strings = { "transactional", "leased" })
	@Tag("promise-3")
	void retriesOfTheMethodClaimTheKeyWithinOneDelivery(String mode) {
		send(mode, "heals-" + mode);
		send(mode, "heals-" + mode);
		assertThat(runs("heals-" + mode)).containsExactly(1, 2, 3);
		assertThat(record("heals-" + mode)).containsEntry("state", "C").containsEntry("attempt", 3);
	}

	@ParameterizedTest
	@ValueSource(strings = { "transactional", "leased" })
	@Tag("promise-1")
	void recordBlockedOnlyAtTheFirstAttemptIsNotRedelivered(String mode) {
		String topic = this.prefix + "-" + mode;
		String key = "held-" + mode;
		this.jdbc.update(
				"INSERT INTO idempotency_record (id, scope, key, state, fence, attempt, token, lease_until, "
						+ "created_at, expires_at) VALUES (?, ?, ?, 'P', 1, 1, gen_random_uuid(), "
						+ "clock_timestamp() + interval '500 ms', now(), now() + interval '1 day')",
				IdempotencyKey.of(mode, key).id(), mode, key);
		int before = this.context.getBean(DeadLetters.class).deliveries(topic).size();
		send(mode, key);
		assertThat(runs(key)).containsExactly(2);
		assertThat(this.context.getBean(DeadLetters.class).deliveries(topic)).hasSize(before + 1);
	}

	private void send(String mode, String value) {
		String topic = this.prefix + "-" + mode;
		Kafka.send(topic, value, value);
		await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> assertThat(Kafka.lag(topic, topic)).isZero());
	}

	private List<Integer> runs(String value) {
		return List.copyOf(TestApp.target(this.context, Listeners.class).runs.get(value));
	}

	private Map<String, Object> record(String key) {
		return this.jdbc.queryForMap("SELECT state::text, attempt FROM idempotency_record WHERE key = ?", key);
	}

	@EnableResilientMethods
	static class Listeners {

		private final Map<String, Queue<Integer>> runs = new ConcurrentHashMap<>();

		@Retryable(maxRetries = 2, delay = 700)
		@Idempotent(scope = "transactional")
		@KafkaListener(topics = "${prefix}-transactional", groupId = "${prefix}-transactional")
		void transactional(String value) {
			handle(value);
		}

		@Retryable(maxRetries = 2, delay = 700)
		@Idempotent(scope = "leased", mode = Mode.LEASED)
		@KafkaListener(topics = "${prefix}-leased", groupId = "${prefix}-leased")
		void leased(String value) {
			handle(value);
		}

		private void handle(String value) {
			int attempt = IdempotentExecution.current().attempt();
			this.runs.computeIfAbsent(value, (key) -> new ConcurrentLinkedQueue<>()).add(attempt);
			if (value.startsWith("heals") && attempt < 3) {
				throw new IllegalStateException("fails");
			}
		}

	}

}
