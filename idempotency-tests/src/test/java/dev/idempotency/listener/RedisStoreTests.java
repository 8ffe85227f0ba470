/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.RedisProcess;
import dev.idempotency.testsupport.RedisServer;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for listeners with the Redis store, on a real broker and server.
 */
class RedisStoreTests {

	private static final int KEYS = 50;

	private static final int COPIES = 8;

	private static ConfigurableApplicationContext start(RedisServer server, String topic) {
		return TestApp.of(Listeners.class).redis(server).with("topic", topic).run();
	}

	@Test
	@Tag("promise-2")
	@Tag("promise-3")
	void copiesInManyPartitionsAndAfterARestartHaveOneEffectPerKey() {
		String topic = Servers.newTopic("redis", COPIES);
		for (int key = 0; key < KEYS; key++) {
			for (int partition = 0; partition < COPIES; partition++) {
				Kafka.send(Kafka.record(topic, partition, topic + key, "v" + key));
			}
		}
		try (ConfigurableApplicationContext context = start(Servers.redis(), topic)) {
			Listeners listeners = TestApp.target(context, Listeners.class);
			await().atMost(Duration.ofSeconds(60)).until(() -> Kafka.lag(topic, topic) == 0);
			assertThat(listeners.effects).hasSize(KEYS).doesNotHaveDuplicates();
		}
		Kafka.send(Kafka.record(topic, 0, topic + 1, "again"));
		try (ConfigurableApplicationContext context = start(Servers.redis(), topic)) {
			await().atMost(Duration.ofSeconds(60)).until(() -> Kafka.lag(topic, topic) == 0);
			assertThat(TestApp.target(context, Listeners.class).effects).isEmpty();
		}
	}

	@Test
	@Tag("promise-11")
	void recordsAreBlockedWhileTheServerIsUnavailable() {
		String topic = Servers.newTopic("redis", 1);
		RedisProcess server = RedisProcess.durable();
		try (ConfigurableApplicationContext context = start(server, topic)) {
			Listeners listeners = TestApp.target(context, Listeners.class);
			Kafka.send(topic, "before", "before");
			await().atMost(Duration.ofSeconds(60)).until(() -> Kafka.lag(topic, topic) == 0);
			server.stop();
			Kafka.send(topic, "during", "during");
			await().during(Duration.ofSeconds(3))
				.atMost(Duration.ofSeconds(20))
				.until(() -> Kafka.lag(topic, topic) == 1);
			server.start();
			Kafka.send(topic, "before", "duplicate");
			await().atMost(Duration.ofSeconds(60)).until(() -> Kafka.lag(topic, topic) == 0);
			assertThat(listeners.effects).containsExactly("before", "during");
		}
		finally {
			server.stop();
		}
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		final Queue<String> effects = new ConcurrentLinkedQueue<>();

		@Idempotent
		@KafkaListener(topics = "${topic}", groupId = "${topic}", concurrency = "8")
		void listen(String value) {
			this.effects.add(value);
		}

	}

}
