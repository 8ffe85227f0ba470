/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.docs;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.core.KafkaOperations;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.core.ProducerFactory;
import org.springframework.kafka.listener.DeadLetterPublishingRecoverer;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.support.ExponentialBackOffWithMaxRetries;

@Configuration(proxyBeanMethods = false)
class FailureConfiguration {

	@Bean
	DefaultErrorHandler errorHandler(ProducerFactory<Object, Object> producers,
			@Value("${failures.first-pause:1s}") Duration firstPause) {
		// Pauses of 1, 2, 4 and 8 s. The consumer must poll within max.poll.interval.ms.
		ExponentialBackOffWithMaxRetries backOff = new ExponentialBackOffWithMaxRetries(4);
		backOff.setInitialInterval(firstPause.toMillis());
		backOff.setMultiplier(2);
		DefaultErrorHandler handler = new DefaultErrorHandler(new DeadLetterPublishingRecoverer(templates(producers)),
				backOff);
		// Failures that no retry can cure.
		handler.addNotRetryableExceptions(IllegalArgumentException.class);
		return handler;
	}

	// A record that cannot be deserialized is published as the bytes that it had, and any
	// other value with the serializer of the application.
	private static Map<Class<?>, KafkaOperations<?, ?>> templates(ProducerFactory<Object, Object> producers) {
		Map<Class<?>, KafkaOperations<?, ?>> templates = new LinkedHashMap<>();
		templates.put(byte[].class, new KafkaTemplate<>(producers,
				Map.of(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class)));
		templates.put(Object.class, new KafkaTemplate<>(producers));
		return templates;
	}

}
