/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.time.Duration;
import java.util.List;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.EnableKafka;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ConsumerSeekAware;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.kafka.support.KafkaUtils;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@code IdempotentAdvisor}: annotated methods that a container without
 * protection calls.
 */
@Tag("promise-15")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class UnprotectedCallTests {

	private final String topic = Servers.newTopic("byhand", 1);

	private final Logs logs = new Logs();

	private ConfigurableApplicationContext context;

	@BeforeAll
	void start() {
		this.context = TestApp.of(Services.class).with("topic", this.topic).run();
	}

	@AfterAll
	void stop() {
		this.context.close();
		this.logs.close();
	}

	@Test
	void annotatedMethodCalledByAnUnregisteredContainerWarnsOnce() {
		this.context.getBean(ByClass.class).on("a");
		this.context.getBean(Protected.class).unmarked();
		assertThat(warnings()).isEmpty();
		Kafka.send(this.topic, "a", "a");
		Kafka.send(this.topic, "a", "a");
		await().atMost(Duration.ofSeconds(20)).until(() -> Kafka.lag(this.topic, this.topic) == 0);
		assertThat(warnings()).allMatch((message) -> message.contains("consumer group '" + this.topic + "'"))
			.extracting((message) -> message.replaceAll(".* on ([^ ]+) is ignored.*", "$1"))
			.containsExactlyInAnyOrder("UnprotectedCallTests.ByClass.on", "UnprotectedCallTests.ByInterface.on",
					"UnprotectedCallTests.Parent.on", "UnprotectedCallTests.ByAnnotation.on");
	}

	@Test
	void seekCallbacksAndOtherMethodsOfAListenerClassDoNotWarn() {
		KafkaUtils.setConsumerGroupId("callbacks");
		try {
			Protected listener = this.context.getBean(Protected.class);
			listener.onFirstPoll();
			listener.unmarked();
			this.context.getBean(Seeking.class).onFirstPoll();
		}
		finally {
			KafkaUtils.clearConsumerGroupId();
		}
		assertThat(this.logs.messages("WARN")).noneMatch((message) -> message.contains("'callbacks'"));
	}

	@Test
	void childContextWithAnIdempotentListenerIsRefused() {
		assertThatExceptionOfType(IdempotencyConfigurationException.class).isThrownBy(() -> child(Protected.class))
			.withMessageContaining(
					"UnprotectedCallTests.Protected.on cannot be protected: its bean belongs to the context "
							+ "'child', and the library is configured in a parent of that context only.");
		child(Seeking.class).close();
	}

	private AnnotationConfigApplicationContext child(Class<?> listener) {
		AnnotationConfigApplicationContext child = new AnnotationConfigApplicationContext();
		child.setParent(this.context);
		child.setDisplayName("child");
		child.register(ChildServices.class, listener);
		child.refresh();
		return child;
	}

	private List<String> warnings() {
		return this.logs.messages("WARN").stream().filter((message) -> message.contains(" is ignored")).toList();
	}

	@Configuration(proxyBeanMethods = false)
	static class Services {

		@Bean
		ByClass byClass() {
			return new ByClass();
		}

		@Bean
		Marked byInterface() {
			return new ByInterface();
		}

		@Bean
		Child bySuperclass() {
			return new Child();
		}

		@Bean
		ByAnnotation byAnnotation() {
			return new ByAnnotation();
		}

		@Bean
		Protected protectedListener() {
			return new Protected();
		}

		@Bean
		Seeking seeking() {
			return new Seeking();
		}

		@Bean
		ConcurrentMessageListenerContainer<Object, Object> byHand(
				ConcurrentKafkaListenerContainerFactory<Object, Object> factory, @Value("${topic}") String topic,
				ByClass byClass, Marked byInterface, Child bySuperclass, ByAnnotation byAnnotation) {
			ConcurrentMessageListenerContainer<Object, Object> container = factory.createContainer(topic);
			container.getContainerProperties().setGroupId(topic);
			container.setupMessageListener((MessageListener<Object, Object>) (record) -> {
				String value = (String) record.value();
				byClass.on(value);
				byInterface.on(value);
				bySuperclass.on(value);
				byAnnotation.on(value);
			});
			return container;
		}

	}

	@EnableKafka
	@Configuration(proxyBeanMethods = false)
	static class ChildServices {

	}

	@Idempotent
	static class ByClass {

		void on(String value) {
		}

	}

	interface Marked {

		@Idempotent
		void on(String value);

	}

	static class ByInterface implements Marked {

		@Override
		public void on(String value) {
		}

	}

	static class Parent {

		@Idempotent
		void on(String value) {
		}

	}

	static class Child extends Parent {

	}

	static class ByAnnotation {

		@Once
		void on(String value) {
		}

	}

	@Idempotent
	static class Protected implements ConsumerSeekAware {

		@KafkaListener(topics = "${topic}-protected", groupId = "${topic}-protected", autoStartup = "false")
		void on(String value) {
		}

		void unmarked() {
		}

	}

	@Idempotent
	static class Seeking implements ConsumerSeekAware {

		void on(String value) {
		}

	}

	@Idempotent
	@Retention(RetentionPolicy.RUNTIME)
	@interface Once {

	}

}
