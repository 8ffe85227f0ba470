/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.docs;

import java.time.Duration;
import java.util.List;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.CommonErrorHandler;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Runs the first rollout of {@code docs/migrating.md}: instances without and with the
 * library read one topic in one group.
 */
@Tag("promise-3")
@Execution(ExecutionMode.CONCURRENT)
class FirstRolloutTests {

	private static final Duration TIMEOUT = Duration.ofSeconds(40);

	private final String topic = Servers.newTopic("rollout", 2);

	private final String database = Servers.newDatabase();

	private final JdbcTemplate jdbc = Servers.jdbc(this.database);

	@Test
	void protectionBeginsWithEachOperationOfANewInstance() {
		this.jdbc.execute("CREATE TABLE effect (payment text, version text)");
		try (ConfigurableApplicationContext old = run(OldInstance.class, false)) {
			send(0, "before");
			awaitEnd();
			try (ConfigurableApplicationContext update = run(NewInstance.class, true)) {
				int ofOld = partition(old);
				int ofUpdate = partition(update);
				send(ofOld, "old");
				send(ofUpdate, "new");
				awaitEnd();
				assertThat(effects()).containsExactlyInAnyOrder("before old", "old old", "new new");
				// Each instance receives the copies of what it has not processed.
				send(ofUpdate, "before", "old");
				send(ofOld, "new");
				awaitEnd();
				assertThat(effects()).hasSize(6).contains("before new", "old new", "new old");
				send(ofOld, "interrupted", "waiting");
				await().atMost(TIMEOUT).until(() -> effects().contains("interrupted old"));
				old.close();
				awaitEnd();
				List<String> effects = effects();
				assertThat(effects).hasSize(9).contains("interrupted new", "waiting new");
				for (int partition = 0; partition < 2; partition++) {
					send(partition, "before", "old", "new", "interrupted", "waiting");
				}
				awaitEnd();
				assertThat(effects()).isEqualTo(effects);
			}
		}
	}

	private ConfigurableApplicationContext run(Class<?> version, boolean library) {
		return TestApp.of(version)
			.database(this.database)
			.with("topic", this.topic)
			.with("idempotency.enabled", library)
			.with("spring.kafka.consumer.heartbeat-interval", "200ms")
			.run();
	}

	// Return the partition of an instance, as soon as each of the two has one.
	private static int partition(ConfigurableApplicationContext instance) {
		MessageListenerContainer container = instance.getBean(KafkaListenerEndpointRegistry.class)
			.getListenerContainers()
			.iterator()
			.next();
		await().atMost(TIMEOUT)
			.until(() -> container.getAssignedPartitions() != null && container.getAssignedPartitions().size() == 1);
		return container.getAssignedPartitions().stream().mapToInt(TopicPartition::partition).findFirst().getAsInt();
	}

	private void send(int partition, String... payments) {
		for (String payment : payments) {
			Kafka.send(new ProducerRecord<>(this.topic, partition, null, payment));
		}
	}

	private void awaitEnd() {
		await().atMost(TIMEOUT).until(() -> Kafka.lag(this.topic, this.topic) == 0);
	}

	private List<String> effects() {
		return this.jdbc.queryForList("SELECT payment || ' ' || version FROM effect ORDER BY 1", String.class);
	}

	@Configuration(proxyBeanMethods = false)
	static class OldInstance {

		private final JdbcTemplate jdbc;

		OldInstance(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@KafkaListener(topics = "${topic}", groupId = "${topic}")
		void pay(String payment) {
			this.jdbc.update("INSERT INTO effect VALUES (?, 'old')", payment);
			if (payment.equals("interrupted")) {
				throw new IllegalStateException("The offset is not committed");
			}
		}

		@Bean
		static CommonErrorHandler retryAfterTheEndOfTheTest() {
			return new DefaultErrorHandler(new FixedBackOff(TIMEOUT.toMillis() * 2, 1));
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class NewInstance {

		private final JdbcTemplate jdbc;

		NewInstance(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@Idempotent(key = "#payload")
		@KafkaListener(topics = "${topic}", groupId = "${topic}")
		void pay(String payment) {
			this.jdbc.update("INSERT INTO effect VALUES (?, 'new')", payment);
		}

	}

}
