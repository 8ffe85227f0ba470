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
import org.springframework.kafka.annotation.BackOff;
import org.springframework.kafka.annotation.KafkaHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;
import org.springframework.kafka.support.KafkaHeaders;
import org.springframework.messaging.handler.annotation.Header;

import dev.idempotency.Idempotent;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for retry topics of a listener class.
 */
@Tag("promise-3")
class RetryTopicClassTests {

	@Test
	void operationIsTheSameOnBothTopics() {
		String topic = Servers.newTopic("retryclass", 1);
		Servers.addTopics(1, topic + "-retry", topic + "-dlt");
		try (ConfigurableApplicationContext context = TestApp.of(Listener.class).with("topic", topic).run()) {
			Queue<String> runs = TestApp.target(context, Listener.class).runs;
			Kafka.send(topic, "plain", "plain");
			Kafka.send(topic, "heals", "heals");
			Kafka.send(topic, "plain", "plain");
			await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> assertThat(runs).hasSize(3));
			Kafka.send(topic, "heals", "heals");
			await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> assertThat(Kafka.lag(topic, topic)).isZero());
			assertThat(Kafka.read(topic + "-retry")).hasSize(1);
			assertThat(runs).containsExactlyInAnyOrder("plain on " + topic + " attempt 1",
					"heals on " + topic + " attempt 1", "heals on " + topic + "-retry attempt 2");
		}
	}

	@Idempotent(mode = Mode.LEASED)
	@RetryableTopic(backOff = @BackOff(delay = 200))
	@KafkaListener(id = "${topic}", topics = "${topic}", groupId = "${topic}")
	static class Listener {

		private final Queue<String> runs = new ConcurrentLinkedQueue<>();

		@KafkaHandler
		void handle(String value, @Header(KafkaHeaders.RECEIVED_TOPIC) String topic) {
			int attempt = IdempotentExecution.current().attempt();
			this.runs.add(value + " on " + topic + " attempt " + attempt);
			if (value.equals("heals") && attempt == 1) {
				throw new IllegalStateException("fails");
			}
		}

	}

}
