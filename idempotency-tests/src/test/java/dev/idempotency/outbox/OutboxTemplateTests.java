/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.util.HashMap;
import java.util.Map;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mockito.Mockito;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.kafka.autoconfigure.KafkaProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Primary;
import org.springframework.core.ResolvableType;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.core.ProducerFactory;
import org.springframework.kafka.support.serializer.JacksonJsonSerializer;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the choice of the {@link KafkaTemplate} whose configuration an outbox uses.
 */
class OutboxTemplateTests {

	private final String topic = Servers.newTopic("template", 1);

	private void assertPublishes(OutboxApp app, Object payload, String published) {
		app.inTransaction(() -> app.outbox().send(this.topic, "account-1", payload));
		Awaitility.await()
			.untilAsserted(() -> assertThat(Kafka.read(this.topic)).extracting(ConsumerRecord::value)
				.containsExactly(published));
	}

	@Test
	void namedTemplateIsUsed() {
		try (OutboxApp app = OutboxApp.start((settings) -> settings.with("idempotency.outbox.kafka-template", "events"),
				Two.class)) {
			assertPublishes(app, Map.of("amount", 7), "{\"amount\":7}");
		}
	}

	// Tests of applications often mock the template.
	@ParameterizedTest
	@ValueSource(strings = { "", "mocked" })
	void producerFactoryIsUsedWhenTheTemplateIsAMock(String name) {
		try (OutboxApp app = OutboxApp.start((settings) -> {
			if (!name.isEmpty()) {
				settings.with("idempotency.outbox.kafka-template", name);
			}
		}, Mocked.class)) {
			assertPublishes(app, "x", "x");
		}
	}

	// Spring adds a mock whose types are not those of Boot's template.
	@Test
	void mockBesideTheTemplateIsIgnored() {
		Contexts.all().withInitializer((context) -> context.addBeanFactoryPostProcessor((beans) -> {
			RootBeanDefinition mock = new RootBeanDefinition();
			mock.setTargetType(ResolvableType.forClassWithGenerics(KafkaTemplate.class, String.class, String.class));
			mock.setInstanceSupplier(() -> Mockito.mock(KafkaTemplate.class));
			((BeanDefinitionRegistry) beans).registerBeanDefinition("mocked", mock);
		}))
			.withPropertyValues("idempotency.outbox.enabled=true")
			.run((context) -> assertThat(context).hasNotFailed()
				.hasSingleBean(Outbox.class)
				.getBeans(KafkaTemplate.class)
				.hasSize(2));
	}

	@Test
	void mockedTemplateIsRefusedWhenThereAreSeveralFactories() {
		Contexts.all()
			.withUserConfiguration(MockedWithTwoFactories.class)
			.withPropertyValues("idempotency.outbox.enabled=true")
			.run((context) -> assertThat(context).hasFailed()
				.getFailure()
				.rootCause()
				.isInstanceOf(IdempotencyConfigurationException.class)
				.hasMessageStartingWith("The KafkaTemplate of the outbox has no ProducerFactory (a mock has none)"));
	}

	/**
	 * The primary template sends text to an unreachable broker.
	 */
	static class Two {

		@Bean
		@Primary
		KafkaTemplate<Object, Object> others(KafkaProperties properties) {
			Map<String, Object> configuration = new HashMap<>(properties.buildProducerProperties());
			configuration.put("bootstrap.servers", "localhost:1");
			configuration.put("value.serializer", StringSerializer.class);
			return new KafkaTemplate<>(new DefaultKafkaProducerFactory<>(configuration));
		}

		@Bean
		KafkaTemplate<Object, Object> events(KafkaProperties properties) {
			Map<String, Object> configuration = new HashMap<>(properties.buildProducerProperties());
			configuration.put("value.serializer", JacksonJsonSerializer.class);
			return new KafkaTemplate<>(new DefaultKafkaProducerFactory<>(configuration));
		}

	}

	/**
	 * Replaces Boot's template with a mock.
	 */
	static class Mocked {

		@Bean
		@SuppressWarnings("unchecked")
		KafkaTemplate<String, String> mocked() {
			return Mockito.mock(KafkaTemplate.class);
		}

	}

	/**
	 * Has two factories and a mock of the template.
	 */
	@Import(Mocked.class)
	static class MockedWithTwoFactories {

		@Bean
		ProducerFactory<String, String> first() {
			return new DefaultKafkaProducerFactory<>(Map.of());
		}

		@Bean
		ProducerFactory<String, String> second() {
			return new DefaultKafkaProducerFactory<>(Map.of());
		}

	}

}
