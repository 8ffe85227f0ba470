/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.orders;

import java.io.IOException;
import java.net.ServerSocket;
import java.util.UUID;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.context.ApplicationContext;
import org.springframework.kafka.test.context.EmbeddedKafka;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;
import redis.embedded.RedisServer;

import dev.idempotency.test.DuplicateDeliveries;
import dev.idempotency.test.IdempotencyTest;
import dev.idempotency.test.RecordedDeliveries;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link IdempotencyTest} with Redis, with a broker that the test configures,
 * and with a listener that has retry topics.
 */
@IdempotencyTest(properties = { "idempotency.store.type=redis",
		"spring.kafka.consumer.value-deserializer=" + "org.apache.kafka.common.serialization.StringDeserializer",
		"spring.kafka.listener.concurrency=2" }, excludeAutoConfiguration = DataSourceAutoConfiguration.class)
@EmbeddedKafka(partitions = 2, topics = "orders")
class RedisSliceTests {

	private static RedisServer redis;

	@Autowired
	private DuplicateDeliveries duplicates;

	@Autowired
	private RecordedDeliveries deliveries;

	@Autowired
	private RetryingListener listener;

	@Autowired
	private ApplicationContext context;

	private final String key = UUID.randomUUID().toString();

	@DynamicPropertySource
	static void startRedis(DynamicPropertyRegistry registry) throws IOException {
		int port;
		try (ServerSocket socket = new ServerSocket(0)) {
			port = socket.getLocalPort();
		}
		redis = RedisServer.newRedisServer().port(port).setting("save \"\"").build();
		redis.start();
		registry.add("spring.data.redis.port", () -> port);
	}

	@AfterAll
	static void stopRedis() throws IOException {
		redis.stop();
	}

	@Test
	void recordHasEndedWhenItHasLeftItsRetryTopics() {
		this.duplicates.of("orders", this.key, "fails twice").send();
		this.duplicates.awaitEnded();
		assertThat(this.listener.handled()).isEqualTo(3);
		assertThat(this.deliveries.of(RetryingListener.class)).failed(this.key, 2)
			.processedOnce(this.key)
			.isCompleted(this.key);
	}

	@Test
	void onlyListenersAreScanned() {
		assertThat(this.context.getBeanProvider(RetryingListener.class)).hasSize(1);
		assertThat(this.context.getBeanProvider(OrderFormat.class)).isEmpty();
	}

	@Test
	void brokerOfTheTestIsUsed() {
		assertThat(this.context.containsBean("idempotencyTestEmbeddedKafka")).isFalse();
	}

}
