/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Collection;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.common.TopicPartition;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceProperties;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.kafka.autoconfigure.KafkaAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.config.ContainerCustomizer;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ConsumerAwareRebalanceListener;

import dev.idempotency.autoconfigure.IdempotencyAutoConfiguration;
import dev.idempotency.autoconfigure.IdempotencyDynamoDbAutoConfiguration;
import dev.idempotency.autoconfigure.IdempotencyJdbcAutoConfiguration;
import dev.idempotency.autoconfigure.IdempotencyKafkaAutoConfiguration;
import dev.idempotency.autoconfigure.IdempotencyRedisAutoConfiguration;
import dev.idempotency.testsupport.DynamoDbClients;

/**
 * A consumer of payments with the minimum of auto-configuration. It stops and starts its
 * containers on command and ends with the process that started it.
 */
@Configuration(proxyBeanMethods = false)
@ImportAutoConfiguration({ KafkaAutoConfiguration.class, DataSourceAutoConfiguration.class,
		JdbcTemplateAutoConfiguration.class, DataSourceTransactionManagerAutoConfiguration.class,
		DataRedisAutoConfiguration.class, IdempotencyAutoConfiguration.class, IdempotencyJdbcAutoConfiguration.class,
		IdempotencyRedisAutoConfiguration.class, IdempotencyDynamoDbAutoConfiguration.class,
		IdempotencyKafkaAutoConfiguration.class })
@Import(DynamoDbClients.class)
public class PaymentApp {

	static final String STARTED = "STARTED";

	static final String GENERATION = "GENERATION ";

	static final String STOP = "stop";

	static final String START = "start";

	public static void main(String[] args) {
		// All settings are system properties of the process.
		Class<?> listener = Shape.valueOf(System.getProperty("shape")).listener();
		KafkaListenerEndpointRegistry registry = new SpringApplicationBuilder(PaymentApp.class, listener).run(args)
			.getBean(KafkaListenerEndpointRegistry.class);
		System.out.println(STARTED);
		obey(registry);
		Runtime.getRuntime().halt(1);
	}

	private static void obey(KafkaListenerEndpointRegistry registry) {
		try (BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
			for (String command = commands.readLine(); command != null; command = commands.readLine()) {
				switch (command) {
					case STOP -> registry.stop();
					case START -> registry.start();
					default -> throw new IllegalArgumentException(command);
				}
			}
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	@Bean
	static CompletionFirst completionFirst() {
		return new CompletionFirst();
	}

	@Bean
	static ChargeLog chargeLog(JdbcTemplate jdbc, DataSourceProperties properties) {
		return new ChargeLog(jdbc, properties);
	}

	@Bean
	static ContainerCustomizer<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> tellGenerations() {
		return (container) -> container.getContainerProperties()
			.setConsumerRebalanceListener(new ConsumerAwareRebalanceListener() {

				@Override
				public void onPartitionsAssigned(Consumer<?, ?> consumer, Collection<TopicPartition> partitions) {
					System.out.println(GENERATION + consumer.groupMetadata().generationId());
				}

			});
	}

}
