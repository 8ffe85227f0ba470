/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

import javax.sql.DataSource;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.MapPropertySource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.config.ContainerPostProcessor;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.config.ShareKafkaListenerContainerFactory;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.core.DefaultShareConsumerFactory;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.kafka.listener.adapter.RecordFilterStrategy;

import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.catchThrowable;

/**
 * Starts listeners in applications that run already, one for each set of properties. A
 * bean that is created later passes the same post-processors and the same registry, but
 * takes milliseconds and not a second. The containers do not start.
 */
final class ListenerStart {

	private static final Map<List<String>, ConfigurableApplicationContext> APPS = new HashMap<>();

	private static final String ATTRIBUTES = "attributes";

	private ListenerStart() {
	}

	/**
	 * Return why a listener is refused.
	 * @param listener the class of the listener
	 * @param properties properties of the application, and those that placeholders in the
	 * attributes of the listener name
	 * @return the explanation
	 */
	static FailureAnalysis refusal(Class<?> listener, String... properties) {
		return Contexts.analyze(catchThrowable(() -> start(listener, properties)));
	}

	static synchronized void start(Class<?> listener, String... properties) {
		Map<Boolean, List<String>> byUse = Arrays.stream(properties)
			.collect(Collectors.partitioningBy((property) -> property.matches("(idempotency|spring)\\..*")));
		ConfigurableApplicationContext app = APPS.computeIfAbsent(byUse.get(true), ListenerStart::run);
		Map<String, Object> attributes = new HashMap<>();
		byUse.get(false).forEach((property) -> attributes.put(name(property), value(property)));
		app.getEnvironment().getPropertySources().addFirst(new MapPropertySource(ATTRIBUTES, attributes));
		app.getAutowireCapableBeanFactory().createBean(listener);
	}

	private static ConfigurableApplicationContext run(List<String> properties) {
		TestApp app = TestApp.of(Beans.class).with("spring.kafka.listener.auto-startup", false);
		properties.forEach((property) -> app.with(name(property), value(property)));
		ConfigurableApplicationContext context = app.run();
		context.getBean(KafkaListenerEndpointRegistry.class).setAlwaysStartAfterRefresh(false);
		return context;
	}

	private static String name(String property) {
		return property.substring(0, property.indexOf('='));
	}

	private static String value(String property) {
		return property.substring(property.indexOf('=') + 1);
	}

	/**
	 * What the containers of some of the listeners need.
	 */
	static class Beans {

		// Boot creates none next to that of Kafka.
		@Bean
		static JdbcTransactionManager transactionManager(DataSource dataSource) {
			return new JdbcTransactionManager(dataSource);
		}

		@Bean
		static ShareKafkaListenerContainerFactory<Object, Object> share(ConsumerFactory<Object, Object> consumers) {
			return new ShareKafkaListenerContainerFactory<>(
					new DefaultShareConsumerFactory<>(consumers.getConfigurationProperties()));
		}

		@Bean
		static OtherContainerTests.OwnFactory own(ApplicationEventPublisher publisher) {
			return new OtherContainerTests.OwnFactory(publisher);
		}

		@Bean
		static ContainerPostProcessor<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> asyncAcks() {
			return (container) -> {
				container.getContainerProperties().setAckMode(AckMode.MANUAL);
				container.getContainerProperties().setAsyncAcks(true);
			};
		}

		@Bean
		@SuppressWarnings("removal")
		static ContainerPostProcessor<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> transactions(
				JdbcTransactionManager manager) {
			return (container) -> container.getContainerProperties().setTransactionManager(manager);
		}

		@Bean
		static ContainerPostProcessor<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> fixedOffsets() {
			return (container) -> container.getContainerProperties().setFixTxOffsets(true);
		}

		@Bean
		static ContainerPostProcessor<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> autoCommit() {
			return (container) -> container.getContainerProperties()
				.getKafkaConsumerProperties()
				.put("enable.auto.commit", true);
		}

		@Bean
		static ConcurrentKafkaListenerContainerFactory<Object, Object> filtering(
				ConsumerFactory<Object, Object> consumers) {
			ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
			factory.setConsumerFactory(consumers);
			factory.setAutoStartup(false);
			factory.setRecordFilterStrategy(new RecordFilterStrategy<>() {

				@Override
				public boolean filter(ConsumerRecord<Object, Object> record) {
					return false;
				}

				@Override
				public List<ConsumerRecord<Object, Object>> filterBatch(List<ConsumerRecord<Object, Object>> records) {
					return List.copyOf(records);
				}

			});
			return factory;
		}

	}

}
