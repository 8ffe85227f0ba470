/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.producer;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.BackOff;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.core.ProducerFactory;
import org.springframework.kafka.listener.DeadLetterPublishingRecoverer;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the keys of records that are sent through an
 * {@link IdempotencyKeyInterceptor}, in handlers and outside of them.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class HandlerKeysTests {

	private final String topic = Servers.unique("produced");

	private ConfigurableApplicationContext context;

	@BeforeAll
	void start() {
		for (String end : List.of("", "-ledger", "-mail", "-plain", "-dead", "-dead-dlt", "-retried")) {
			Servers.addTopics(1, this.topic + end);
		}
		this.context = TestApp.of(Handlers.class)
			.with("topic", this.topic)
			.with("spring.kafka.producer.properties.interceptor.classes", IdempotencyKeyInterceptor.class.getName())
			.run();
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@Test
	void twoGroupsDeriveDifferentKeysFromTheConsumedKey() {
		Kafka.send(this.topic, "order-1", "once");
		assertSent("ledger", "once", keys("ledger", "order-1"));
		assertSent("mail", "once", keys("mail", "order-1"));
	}

	@ParameterizedTest
	@ValueSource(strings = { "ledger", "mail" })
	void handlerThatRunsAgainSendsTheSameKeys(String group) {
		String value = "fails-first-in-" + group;
		Kafka.send(this.topic, value, value);
		List<String> keys = keys(group, value);
		assertSent(group, value, List.of(keys.get(0), keys.get(1), keys.get(0), keys.get(1)));
	}

	@Test
	void recordOutsideOfAHandlerIsStampedUnlessItHasAKey() {
		KafkaTemplate<String, String> kafka = kafka();
		kafka.send(this.topic + "-plain", "new").join();
		kafka.send(Kafka.record(this.topic + "-plain", 0, "mine", "named")).join();
		assertThat(sent(this.topic + "-plain", "new")).singleElement().asString().hasSize(36);
		assertThat(sent(this.topic + "-plain", "named")).containsExactly("mine");
	}

	@Test
	@SuppressWarnings("unchecked")
	void interceptorOfATemplateStampsRecords() {
		ProducerFactory<String, String> factory = this.context.getBean(ProducerFactory.class);
		KafkaTemplate<String, String> kafka = new KafkaTemplate<>(
				factory.copyWithConfigurationOverride(Map.of("interceptor.classes", List.of())));
		kafka.send(this.topic + "-plain", "bare").join();
		kafka.setProducerInterceptor(new IdempotencyKeyInterceptor<>());
		kafka.send(this.topic + "-plain", "template").join();
		kafka.destroy();
		assertThat(sent(this.topic + "-plain", "bare")).containsOnlyNulls().hasSize(1);
		assertThat(sent(this.topic + "-plain", "template")).singleElement().asString().hasSize(36);
	}

	@Test
	void deadLetterOfARecordWithoutKeyIsNotStamped() {
		Kafka.send(this.topic + "-dead", null, "dead");
		await().atMost(Duration.ofSeconds(20))
			.untilAsserted(() -> assertThat(sent(this.topic + "-dead-dlt", "dead")).hasSize(1).containsOnlyNulls());
	}

	@Test
	void recordWithoutKeyIsNotStampedOnItsRetryTopic() {
		Kafka.send(this.topic + "-retried", null, "retried");
		Queue<String> seen = TestApp.target(this.context, Handlers.class).retried;
		await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> assertThat(seen).containsExactly("null", "null"));
	}

	private void assertSent(String group, String value, List<String> keys) {
		await().atMost(Duration.ofSeconds(20))
			.untilAsserted(() -> assertThat(sent(this.topic + "-" + group, value)).isEqualTo(keys));
	}

	private static List<String> keys(String scope, String key) {
		String id = IdempotencyKey.of(scope, key).id().toString();
		return List.of(id + "-0", id + "-1");
	}

	private static List<String> sent(String topic, String value) {
		return Kafka.read(topic)
			.stream()
			.filter((record) -> record.value().equals(value))
			.map((record) -> SentKeys.of(record.headers()))
			.toList();
	}

	@SuppressWarnings("unchecked")
	private KafkaTemplate<String, String> kafka() {
		return this.context.getBean(KafkaTemplate.class);
	}

	@Configuration(proxyBeanMethods = false)
	static class Handlers {

		private final KafkaTemplate<String, String> kafka;

		private final Queue<String> failed = new ConcurrentLinkedQueue<>();

		private final Queue<String> retried = new ConcurrentLinkedQueue<>();

		Handlers(KafkaTemplate<String, String> kafka) {
			this.kafka = kafka;
		}

		@Idempotent(scope = "ledger")
		@KafkaListener(topics = "${topic}", groupId = "${topic}-ledger")
		void ledger(ConsumerRecord<String, String> record) {
			handle("ledger", record);
		}

		@Idempotent(scope = "mail", mode = Mode.LEASED)
		@KafkaListener(topics = "${topic}", groupId = "${topic}-mail")
		void mail(ConsumerRecord<String, String> record) {
			handle("mail", record);
		}

		@Idempotent
		@KafkaListener(topics = "${topic}-dead", groupId = "${topic}-dead")
		void dead(String value) {
			throw new IllegalStateException("fails");
		}

		@Idempotent
		@RetryableTopic(attempts = "2", backOff = @BackOff(delay = 10), numPartitions = "1")
		@KafkaListener(topics = "${topic}-retried", groupId = "${topic}-retried")
		void retried(ConsumerRecord<String, String> record) {
			this.retried.add(String.valueOf(SentKeys.of(record.headers())));
			if (this.retried.size() == 1) {
				throw new IllegalStateException("fails");
			}
		}

		private void handle(String group, ConsumerRecord<String, String> record) {
			String target = record.topic() + "-" + group;
			this.kafka.send(target, record.value()).join();
			this.kafka.send(target, record.value()).join();
			if (record.value().equals("fails-first-in-" + group) && !this.failed.contains(record.value())) {
				this.failed.add(record.value());
				throw new IllegalStateException("fails");
			}
		}

		@Bean
		static DefaultErrorHandler errorHandler(KafkaTemplate<?, ?> kafka) {
			return new DefaultErrorHandler(new DeadLetterPublishingRecoverer(kafka), new FixedBackOff(0, 2));
		}

	}

}
