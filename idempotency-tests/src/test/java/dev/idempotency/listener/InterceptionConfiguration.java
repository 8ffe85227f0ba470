/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import org.springframework.boot.kafka.autoconfigure.ConcurrentKafkaListenerContainerFactoryConfigurer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.config.ContainerCustomizer;
import org.springframework.kafka.config.ContainerPostProcessor;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.KafkaListenerErrorHandler;
import org.springframework.kafka.listener.RecordInterceptor;
import org.springframework.util.backoff.FixedBackOff;

/**
 * The interceptors, filters and customizers of {@link InterceptionTests}.
 */
@Configuration(proxyBeanMethods = false)
@Import(InterceptionLog.class)
class InterceptionConfiguration {

	private final InterceptionLog log;

	InterceptionConfiguration(InterceptionLog log) {
		this.log = log;
	}

	@Bean
	DefaultErrorHandler errorHandler() {
		return new DefaultErrorHandler(new FixedBackOff(0, 1));
	}

	@Bean
	RecordInterceptor<Object, Object> interceptor() {
		return (record, consumer) -> {
			this.log.of("interceptor " + record.topic().replaceFirst(".*-", "")).add((String) record.value());
			return (record.topic().endsWith("-bean") && "turned-away".equals(record.value())) ? null : record;
		};
	}

	@Bean
	KafkaListenerErrorHandler swallow() {
		return (message, exception) -> null;
	}

	@Bean
	KafkaListenerErrorHandler reply() {
		return (message, exception) -> "sorry";
	}

	@Bean
	ContainerCustomizer<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> customizer() {
		return (container) -> this.log.of("customizer").add(describe(container));
	}

	@Bean
	ContainerPostProcessor<Object, Object, AbstractMessageListenerContainer<Object, Object>> postProcessor() {
		return (container) -> this.log.of("post-processor").add(describe(container));
	}

	private static String describe(AbstractMessageListenerContainer<?, ?> container) {
		return container.getListenerId() + " "
				+ container.getContainerProperties().getMessageListener().getClass().getSimpleName();
	}

	@Bean
	ConcurrentKafkaListenerContainerFactory<Object, Object> intercepting(
			ConcurrentKafkaListenerContainerFactoryConfigurer configurer, ConsumerFactory<Object, Object> consumers) {
		ConcurrentKafkaListenerContainerFactory<Object, Object> factory = factory(configurer, consumers);
		factory.setRecordInterceptor((record, consumer) -> {
			this.log.of("interceptor factory").add((String) record.value());
			if ("turned-away".equals(record.value())) {
				throw new IllegalArgumentException("turned away");
			}
			return record;
		});
		return factory;
	}

	@Bean
	ConcurrentKafkaListenerContainerFactory<Object, Object> filtering(
			ConcurrentKafkaListenerContainerFactoryConfigurer configurer, ConsumerFactory<Object, Object> consumers) {
		ConcurrentKafkaListenerContainerFactory<Object, Object> factory = factory(configurer, consumers);
		factory.setRecordFilterStrategy((record) -> "turned-away".equals(record.value()));
		return factory;
	}

	@Bean
	ConcurrentKafkaListenerContainerFactory<Object, Object> discarding(
			ConcurrentKafkaListenerContainerFactoryConfigurer configurer, ConsumerFactory<Object, Object> consumers) {
		ConcurrentKafkaListenerContainerFactory<Object, Object> factory = filtering(configurer, consumers);
		factory.setAckDiscarded(true);
		factory.getContainerProperties().setAckMode(AckMode.MANUAL);
		return factory;
	}

	private static ConcurrentKafkaListenerContainerFactory<Object, Object> factory(
			ConcurrentKafkaListenerContainerFactoryConfigurer configurer, ConsumerFactory<Object, Object> consumers) {
		ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
		configurer.configure(factory, consumers);
		return factory;
	}

}
