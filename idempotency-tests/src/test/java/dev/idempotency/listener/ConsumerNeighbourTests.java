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

import io.micrometer.core.instrument.MeterRegistry;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.springframework.boot.kafka.autoconfigure.ConcurrentKafkaListenerContainerFactoryConfigurer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.KafkaListenerConfigurer;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerEndpointRegistrar;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.support.KafkaHeaders;
import org.springframework.kafka.support.serializer.DeserializationException;
import org.springframework.kafka.support.serializer.ErrorHandlingDeserializer;
import org.springframework.messaging.handler.annotation.Payload;
import org.springframework.messaging.handler.annotation.support.MethodArgumentNotValidException;
import org.springframework.util.backoff.FixedBackOff;
import org.springframework.validation.Errors;
import org.springframework.validation.Validator;
import org.springframework.validation.annotation.Validated;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Idempotent;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.DeadLetters;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for consumer settings of the application: validation, observation, failing
 * deserializers, several groups, topic patterns, and the new group protocol.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ConsumerNeighbourTests {

	private static final List<String> LISTENERS = List.of("validated", "broken", "groups", "protocol", "several");

	private final String prefix = Servers.unique("consumers");

	private ConfigurableApplicationContext context;

	private JdbcTemplate jdbc;

	@BeforeAll
	void start() {
		for (String name : LISTENERS) {
			Servers.addTopics(name.equals("several") ? 4 : 1, topic(name), topic(name) + "-dead");
		}
		String database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(database);
		this.context = TestApp.of(Listeners.class, Recoveries.class, DeadLetters.class)
			.database(database)
			.with("prefix", this.prefix)
			.with("spring.kafka.listener.observation-enabled", true)
			.with("spring.kafka.consumer.properties.metadata.max.age.ms", 500)
			.run();
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@Test
	@Tag("promise-10")
	void invalidPayloadGoesToTheErrorHandlerAndIsNotStored() {
		Kafka.send(topic("validated"), "invalid", "invalid");
		Kafka.send(topic("validated"), "valid", "valid");
		awaitHandled(this.prefix, "validated");
		assertThat(seen("validated")).containsExactly("valid");
		assertThat(DeadLetters.read(topic("validated"))).singleElement()
			.satisfies((record) -> assertThat(DeadLetters.header(record, KafkaHeaders.DLT_EXCEPTION_CAUSE_FQCN))
				.isEqualTo(MethodArgumentNotValidException.class.getName()));
		assertThat(records("invalid")).isZero();
		assertThat(records("valid")).isOne();
	}

	@Test
	@Tag("promise-10")
	void recordThatCannotBeDeserializedGoesToTheErrorHandlerAndIsNotStored() {
		Kafka.send(topic("broken"), "unreadable", "unreadable");
		Kafka.send(topic("broken"), "readable", "readable");
		awaitHandled(this.prefix, "broken");
		assertThat(seen("broken")).containsExactly("readable");
		assertThat(this.context.getBean(Recoveries.class).causes).hasOnlyElementsOfType(DeserializationException.class)
			.hasSize(1);
		assertThat(records("unreadable")).isZero();
		assertThat(records("readable")).isOne();
	}

	@Test
	@Tag("promise-3")
	void eachGroupOfAMethodProcessesEachKeyOnce() {
		Kafka.send(topic("groups"), "twice", "twice");
		Kafka.send(topic("groups"), "twice", "twice");
		awaitHandled(this.prefix + "-first", "groups");
		awaitHandled(this.prefix + "-second", "groups");
		assertThat(seen("groups")).containsExactly("twice", "twice");
		assertThat(records("twice")).isEqualTo(2);
	}

	@Test
	@Tag("promise-3")
	void topicCreatedAfterTheStartIsProtected() {
		String late = this.prefix + "-late-1";
		Servers.addTopics(1, late);
		Kafka.send(late, "late", "late");
		Kafka.send(late, "late", "late");
		await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> assertThat(Kafka.lag(this.prefix, late)).isZero());
		assertThat(seen("late")).containsExactly("late");
	}

	@Test
	@Tag("promise-1")
	void recordIsBlockedUnderTheNewGroupProtocol() {
		IdempotencyKey held = IdempotencyKey.of("protocol", "held");
		CrashedOwner.claim(this.jdbc, held);
		Kafka.send(topic("protocol"), "before", "before");
		Kafka.send(topic("protocol"), "held", "held");
		Kafka.send(topic("protocol"), "behind", "behind");
		DeadLetters log = this.context.getBean(DeadLetters.class);
		await().atMost(Duration.ofSeconds(30))
			.untilAsserted(() -> assertThat(log.outcomes("ConsumerNeighbourTests.Listeners.protocol"))
				.contains(Outcome.IN_PROGRESS));
		CrashedOwner.endLease(this.jdbc, held);
		awaitHandled(this.prefix + "-protocol", "protocol");
		assertThat(seen("protocol")).containsExactly("before", "held", "behind");
		assertThat(DeadLetters.read(topic("protocol"))).isEmpty();
	}

	@Test
	@Tag("promise-2")
	void fourConsumersHaveOneEffectAndOneObservationForEachDelivery() {
		for (int copy = 0; copy < 4; copy++) {
			for (int key = 0; key < 10; key++) {
				Kafka.send(Kafka.record(topic("several"), copy, "several-" + key, "several-" + key));
			}
		}
		awaitHandled(this.prefix, "several");
		assertThat(seen("several")).hasSize(10).doesNotHaveDuplicates();
		MeterRegistry meters = this.context.getBean(MeterRegistry.class);
		int deliveries = this.context.getBean(DeadLetters.class).deliveries(topic("several")).size();
		await().atMost(Duration.ofSeconds(10))
			.untilAsserted(() -> assertThat(meters.find("spring.kafka.listener")
				.timers()
				.stream()
				.filter((timer) -> String.valueOf(timer.getId().getTag("spring.kafka.listener.id"))
					.startsWith("several"))
				.mapToLong((timer) -> timer.count())
				.sum()).isEqualTo(deliveries));
	}

	private void awaitHandled(String group, String name) {
		await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> assertThat(Kafka.lag(group, topic(name))).isZero());
	}

	private List<String> seen(String name) {
		return List.copyOf(TestApp.target(this.context, Listeners.class).of(name));
	}

	private int records(String key) {
		return this.jdbc.queryForObject("SELECT count(*) FROM idempotency_record WHERE key = ?", Integer.class, key);
	}

	private String topic(String name) {
		return this.prefix + "-" + name;
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners implements KafkaListenerConfigurer {

		private final Map<String, Queue<String>> seen = new ConcurrentHashMap<>();

		Queue<String> of(String name) {
			return this.seen.computeIfAbsent(name, (key) -> new ConcurrentLinkedQueue<>());
		}

		@Idempotent
		@KafkaListener(topics = "${prefix}-validated", groupId = "${prefix}")
		void validated(@Validated @Payload String value) {
			of("validated").add(value);
		}

		@Idempotent
		@KafkaListener(topics = "${prefix}-broken", groupId = "${prefix}", containerFactory = "recovering",
				properties = {
						"value.deserializer=org.springframework.kafka.support.serializer.ErrorHandlingDeserializer",
						ErrorHandlingDeserializer.VALUE_DESERIALIZER_CLASS
								+ "=dev.idempotency.listener.ConsumerNeighbourTests$Unreadable" })
		void broken(String value) {
			of("broken").add(value);
		}

		@Idempotent
		@KafkaListener(topics = "${prefix}-groups", groupId = "${prefix}-first")
		@KafkaListener(topics = "${prefix}-groups", groupId = "${prefix}-second")
		void groups(String value) {
			of("groups").add(value);
		}

		@Idempotent
		@KafkaListener(topicPattern = "${prefix}-late-.*", groupId = "${prefix}")
		void late(String value) {
			of("late").add(value);
		}

		@Idempotent(scope = "protocol")
		@KafkaListener(topics = "${prefix}-protocol", groupId = "${prefix}-protocol",
				properties = "group.protocol=consumer")
		void protocol(ConsumerRecord<String, String> record) {
			of("protocol").add(record.value());
		}

		@Idempotent
		@KafkaListener(id = "several", topics = "${prefix}-several", groupId = "${prefix}", concurrency = "4")
		void several(String value) {
			of("several").add(value);
		}

		@Override
		public void configureKafkaListeners(KafkaListenerEndpointRegistrar registrar) {
			registrar.setValidator(new Validator() {

				@Override
				public boolean supports(Class<?> type) {
					return true;
				}

				@Override
				public void validate(Object target, Errors errors) {
					if (target.equals("invalid")) {
						errors.reject("invalid");
					}
				}

			});
		}

	}

	/**
	 * Keeps the bytes that could not be deserialized, which a producer of strings could
	 * not send.
	 */
	@Configuration(proxyBeanMethods = false)
	static class Recoveries {

		private final Queue<Throwable> causes = new ConcurrentLinkedQueue<>();

		@Bean
		ConcurrentKafkaListenerContainerFactory<Object, Object> recovering(
				ConcurrentKafkaListenerContainerFactoryConfigurer configurer,
				ConsumerFactory<Object, Object> consumers) {
			ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
			configurer.configure(factory, consumers);
			factory.setCommonErrorHandler(
					new DefaultErrorHandler((record, ex) -> this.causes.add(ex.getCause()), new FixedBackOff(0, 5)));
			return factory;
		}

	}

	/**
	 * A deserializer that fails for some values.
	 */
	public static class Unreadable extends StringDeserializer {

		@Override
		public String deserialize(String topic, byte[] data) {
			String text = super.deserialize(topic, data);
			if (text.equals("unreadable")) {
				throw new IllegalArgumentException("unreadable");
			}
			return text;
		}

	}

}
