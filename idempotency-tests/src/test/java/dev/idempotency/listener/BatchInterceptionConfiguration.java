/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.StreamSupport;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.common.TopicPartition;
import org.springframework.boot.kafka.autoconfigure.ConcurrentKafkaListenerContainerFactoryConfigurer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.kafka.annotation.KafkaListenerConfigurer;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.config.ContainerCustomizer;
import org.springframework.kafka.config.KafkaListenerEndpointRegistrar;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.listener.BatchInterceptor;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.util.backoff.FixedBackOff;
import org.springframework.validation.Errors;
import org.springframework.validation.Validator;

/**
 * The interceptors, filters, customizers and validators of
 * {@link BatchInterceptionTests}. All of them drop the value {@code x}.
 */
@Configuration(proxyBeanMethods = false)
@Import(InterceptionLog.class)
class BatchInterceptionConfiguration implements KafkaListenerConfigurer {

	private final InterceptionLog log;

	BatchInterceptionConfiguration(InterceptionLog log) {
		this.log = log;
	}

	@Bean
	DefaultErrorHandler errorHandler() {
		return new DefaultErrorHandler(new FixedBackOff(0, 1));
	}

	// Drops a whole batch.
	@Bean
	BatchInterceptor<Object, Object> interceptor() {
		return (records, consumer) -> {
			List<String> values = values(records);
			this.log.of("interceptor " + listener(records)).add(String.join(" ", values));
			return (listener(records).equals("dropped") && values.contains("x")) ? null : records;
		};
	}

	// Drops single records of a batch.
	@Bean
	ConcurrentKafkaListenerContainerFactory<Object, Object> intercepting(
			ConcurrentKafkaListenerContainerFactoryConfigurer configurer, ConsumerFactory<Object, Object> consumers) {
		ConcurrentKafkaListenerContainerFactory<Object, Object> factory = factory(configurer, consumers);
		factory.setBatchInterceptor((records, consumer) -> {
			Map<TopicPartition, List<ConsumerRecord<Object, Object>>> kept = new HashMap<>();
			records.partitions()
				.forEach((partition) -> kept.put(partition,
						records.records(partition).stream().filter((one) -> !one.value().equals("x")).toList()));
			return new ConsumerRecords<>(kept, Map.of());
		});
		return factory;
	}

	@Bean
	ConcurrentKafkaListenerContainerFactory<Object, Object> filtering(
			ConcurrentKafkaListenerContainerFactoryConfigurer configurer, ConsumerFactory<Object, Object> consumers) {
		ConcurrentKafkaListenerContainerFactory<Object, Object> factory = factory(configurer, consumers);
		factory.setRecordFilterStrategy((record) -> record.value().equals("x"));
		return factory;
	}

	@Bean
	ContainerCustomizer<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> customizer() {
		return (container) -> this.log.of("customizer")
			.add(String.valueOf(container.getListenerId()).replaceFirst(".*-", "") + " "
					+ container.getContainerProperties().getMessageListener().getClass().getSimpleName());
	}

	// A list is validated as a whole.
	@Override
	public void configureKafkaListeners(KafkaListenerEndpointRegistrar registrar) {
		registrar.setValidator(new Validator() {

			@Override
			public boolean supports(Class<?> type) {
				return true;
			}

			@Override
			public void validate(Object target, Errors errors) {
				if (target instanceof List<?> values && values.contains("x")) {
					errors.reject("invalid");
				}
			}

		});
	}

	private static ConcurrentKafkaListenerContainerFactory<Object, Object> factory(
			ConcurrentKafkaListenerContainerFactoryConfigurer configurer, ConsumerFactory<Object, Object> consumers) {
		ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
		configurer.configure(factory, consumers);
		return factory;
	}

	private static String listener(ConsumerRecords<Object, Object> records) {
		return records.iterator().next().topic().replaceFirst(".*-", "");
	}

	private static List<String> values(ConsumerRecords<Object, Object> records) {
		return StreamSupport.stream(records.spliterator(), false).map((one) -> (String) one.value()).toList();
	}

}
