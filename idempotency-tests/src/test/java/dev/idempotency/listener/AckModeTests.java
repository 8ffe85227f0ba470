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

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionBuilder;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.BeanDefinitionRegistryPostProcessor;
import org.springframework.boot.kafka.autoconfigure.ConcurrentKafkaListenerContainerFactoryConfigurer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.kafka.support.Acknowledgment;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@code Delivery}: a skipped duplicate is acknowledged in every ack mode.
 */
@Tag("promise-8")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class AckModeTests {

	private final String prefix = Servers.unique("acks");

	private ConfigurableApplicationContext context;

	@BeforeAll
	void start() {
		for (AckMode mode : AckMode.values()) {
			fill(topic(mode, ""));
		}
		fill(topic(AckMode.MANUAL, "-ack"));
		fill(topic(AckMode.MANUAL_IMMEDIATE, "-ack"));
		this.context = TestApp.of(Listeners.class, Factories.class).with("prefix", this.prefix).run();
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	// Offsets 1 and 3 are duplicates.
	private static void fill(String topic) {
		Servers.addTopics(1, topic);
		for (String value : List.of("a", "a", "b", "b")) {
			Kafka.send(topic, topic + value, value);
		}
	}

	@ParameterizedTest
	@EnumSource(names = { "MANUAL", "MANUAL_IMMEDIATE" }, mode = EnumSource.Mode.EXCLUDE)
	void duplicatesAreCommittedByTheContainer(AckMode mode) {
		assertCommitted(topic(mode, ""));
	}

	@ParameterizedTest
	@EnumSource(names = { "MANUAL", "MANUAL_IMMEDIATE" })
	void duplicatesAreAcknowledgedIfTheMethodAcknowledges(AckMode mode) {
		assertCommitted(topic(mode, "-ack"));
	}

	@ParameterizedTest
	@EnumSource(names = { "MANUAL", "MANUAL_IMMEDIATE" })
	void duplicatesAreAcknowledgedIfTheMethodHasNoAcknowledgmentParameter(AckMode mode) {
		assertCommitted(topic(mode, ""));
	}

	private void assertCommitted(String topic) {
		await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> assertThat(Kafka.lag(this.prefix, topic)).isZero());
		assertThat(TestApp.target(this.context, Listeners.class).handled.get(topic)).containsExactly("a", "b");
	}

	private String topic(AckMode mode, String suffix) {
		return this.prefix + "-" + mode + suffix;
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		final Map<String, Queue<String>> handled = new ConcurrentHashMap<>();

		@Idempotent
		@KafkaListener(topics = "${prefix}-RECORD", groupId = "${prefix}", containerFactory = "RECORD")
		@KafkaListener(topics = "${prefix}-BATCH", groupId = "${prefix}", containerFactory = "BATCH")
		@KafkaListener(topics = "${prefix}-COUNT", groupId = "${prefix}", containerFactory = "COUNT")
		@KafkaListener(topics = "${prefix}-TIME", groupId = "${prefix}", containerFactory = "TIME")
		@KafkaListener(topics = "${prefix}-COUNT_TIME", groupId = "${prefix}", containerFactory = "COUNT_TIME")
		@KafkaListener(topics = "${prefix}-MANUAL", groupId = "${prefix}", containerFactory = "MANUAL")
		@KafkaListener(topics = "${prefix}-MANUAL_IMMEDIATE", groupId = "${prefix}",
				containerFactory = "MANUAL_IMMEDIATE")
		void plain(ConsumerRecord<String, String> record) {
			handle(record.topic(), record.value());
		}

		@Idempotent
		@KafkaListener(topics = "${prefix}-MANUAL-ack", groupId = "${prefix}", containerFactory = "MANUAL")
		@KafkaListener(topics = "${prefix}-MANUAL_IMMEDIATE-ack", groupId = "${prefix}",
				containerFactory = "MANUAL_IMMEDIATE")
		void acknowledging(ConsumerRecord<String, String> record, Acknowledgment acknowledgment) {
			handle(record.topic(), record.value());
			acknowledgment.acknowledge();
		}

		private void handle(String topic, String value) {
			this.handled.computeIfAbsent(topic, (name) -> new ConcurrentLinkedQueue<>()).add(value);
		}

	}

	/**
	 * A container factory for each ack mode, with the name of the mode.
	 */
	static class Factories implements BeanDefinitionRegistryPostProcessor {

		@Override
		public void postProcessBeanDefinitionRegistry(BeanDefinitionRegistry registry) {
			BeanFactory beanFactory = (BeanFactory) registry;
			for (AckMode mode : AckMode.values()) {
				registry.registerBeanDefinition(mode.name(),
						BeanDefinitionBuilder
							.genericBeanDefinition(ConcurrentKafkaListenerContainerFactory.class,
									() -> create(beanFactory, mode))
							.getBeanDefinition());
			}
		}

		@SuppressWarnings("unchecked")
		private static ConcurrentKafkaListenerContainerFactory<Object, Object> create(BeanFactory beanFactory,
				AckMode mode) {
			ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
			beanFactory.getBean(ConcurrentKafkaListenerContainerFactoryConfigurer.class)
				.configure(factory, beanFactory.getBean(ConsumerFactory.class));
			factory.getContainerProperties().setAckMode(mode);
			factory.getContainerProperties().setAckCount(2);
			factory.getContainerProperties().setAckTime(200);
			return factory;
		}

	}

}
