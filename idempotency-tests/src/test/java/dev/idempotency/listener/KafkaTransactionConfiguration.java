/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.Collection;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.common.TopicPartition;
import org.springframework.boot.kafka.autoconfigure.ConcurrentKafkaListenerContainerFactoryConfigurer;
import org.springframework.boot.kafka.autoconfigure.DefaultKafkaProducerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.config.ContainerCustomizer;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ConsumerAwareRebalanceListener;
import org.springframework.kafka.listener.ConsumerRecordRecoverer;
import org.springframework.kafka.listener.DefaultAfterRollbackProcessor;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.template.OperationObserver;

/**
 * The container factories of {@link KafkaTransactionTests}, with three attempts each, and
 * another owner that claims the keys of failing records between two attempts.
 */
@Configuration(proxyBeanMethods = false)
class KafkaTransactionConfiguration {

	final Queue<String> recovered = new ConcurrentLinkedQueue<>();

	final Map<String, AtomicInteger> blocked = new ConcurrentHashMap<>();

	final Map<String, AtomicInteger> assignments = new ConcurrentHashMap<>();

	@Bean
	static CommitHooks commitHooks() {
		return new CommitHooks();
	}

	@Bean
	static DefaultKafkaProducerFactoryCustomizer hookProducers(CommitHooks hooks) {
		return (factory) -> addHooks(factory, hooks);
	}

	@SuppressWarnings("unchecked")
	private static void addHooks(DefaultKafkaProducerFactory<?, ?> factory, CommitHooks hooks) {
		((DefaultKafkaProducerFactory<Object, Object>) factory).addPostProcessor(hooks);
	}

	@Bean
	ConcurrentKafkaListenerContainerFactory<Object, Object> rollbackFactory(
			ConcurrentKafkaListenerContainerFactoryConfigurer configurer, ConsumerFactory<Object, Object> consumers,
			ContainerCustomizer<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> customizer) {
		ConcurrentKafkaListenerContainerFactory<Object, Object> factory = factory(configurer, consumers, customizer);
		factory.setAfterRollbackProcessor(new DefaultAfterRollbackProcessor<>(recoverer(), new FixedBackOff(0, 2)));
		return factory;
	}

	@Bean
	ConcurrentKafkaListenerContainerFactory<Object, Object> recoveredFactory(
			ConcurrentKafkaListenerContainerFactoryConfigurer configurer, ConsumerFactory<Object, Object> consumers,
			ContainerCustomizer<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> customizer,
			KafkaTemplate<?, ?> kafka) {
		ConcurrentKafkaListenerContainerFactory<Object, Object> factory = factory(configurer, consumers, customizer);
		factory.setAfterRollbackProcessor(
				new DefaultAfterRollbackProcessor<>(recoverer(), new FixedBackOff(0, 2), kafka, true));
		return factory;
	}

	@Bean
	ConcurrentKafkaListenerContainerFactory<Object, Object> handlerFactory(
			ConcurrentKafkaListenerContainerFactoryConfigurer configurer, ConsumerFactory<Object, Object> consumers,
			ContainerCustomizer<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> customizer) {
		ConcurrentKafkaListenerContainerFactory<Object, Object> factory = factory(configurer, consumers, customizer);
		factory.setCommonErrorHandler(new DefaultErrorHandler(recoverer(), new FixedBackOff(0, 2)));
		return factory;
	}

	private static ConcurrentKafkaListenerContainerFactory<Object, Object> factory(
			ConcurrentKafkaListenerContainerFactoryConfigurer configurer, ConsumerFactory<Object, Object> consumers,
			ContainerCustomizer<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> customizer) {
		ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
		configurer.configure(factory, consumers);
		factory.setContainerCustomizer(customizer);
		return factory;
	}

	private ConsumerRecordRecoverer recoverer() {
		return (record, ex) -> this.recovered.add((String) record.value());
	}

	@Bean
	ContainerCustomizer<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> countAssignments() {
		return (container) -> container.getContainerProperties()
			.setConsumerRebalanceListener(new ConsumerAwareRebalanceListener() {

				@Override
				public void onPartitionsAssigned(Consumer<?, ?> consumer, Collection<TopicPartition> partitions) {
					partitions.forEach((partition) -> KafkaTransactionConfiguration.this.assignments
						.computeIfAbsent(partition.topic(), (topic) -> new AtomicInteger())
						.incrementAndGet());
				}

			});
	}

	@Bean
	OperationObserver rival(JdbcTemplate jdbc) {
		return new OperationObserver() {

			@Override
			public void handled(HandledOperation execution) {
				if (execution.key() == null) {
					return;
				}
				String key = execution.key().value();
				boolean broken = key.startsWith("broken");
				if (execution.outcome() == Outcome.IN_PROGRESS) {
					KafkaTransactionConfiguration.this.blocked.computeIfAbsent(key, (name) -> new AtomicInteger())
						.incrementAndGet();
					if (broken) {
						CrashedOwner.endLease(jdbc, execution.key());
					}
				}
				else if (execution.outcome() == Outcome.FAILED && broken) {
					// Another owner claims the key between two attempts and crashes.
					CrashedOwner.claim(jdbc, execution.key());
				}
			}

		};
	}

}
