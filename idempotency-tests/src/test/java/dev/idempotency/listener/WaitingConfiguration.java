/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.Collection;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.springframework.boot.kafka.autoconfigure.ConcurrentKafkaListenerContainerFactoryConfigurer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.config.ContainerCustomizer;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.CommonErrorHandler;
import org.springframework.kafka.listener.CommonLoggingErrorHandler;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ConsumerAwareRebalanceListener;
import org.springframework.kafka.listener.DeadLetterPublishingRecoverer;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.KafkaListenerErrorHandler;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.template.OperationObserver;

/**
 * The error handlers of {@link WaitingTests}.
 */
@Configuration(proxyBeanMethods = false)
class WaitingConfiguration {

	@Bean
	WaitingLog waitingLog() {
		return new WaitingLog();
	}

	@Bean
	WaitingListeners waitingListeners(WaitingLog log) {
		return new WaitingListeners(log);
	}

	@Bean
	KafkaListenerErrorHandler swallow() {
		return (message, exception) -> null;
	}

	@Bean
	ConcurrentKafkaListenerContainerFactory<Object, Object> dltFactory(
			ConcurrentKafkaListenerContainerFactoryConfigurer configurer, ConsumerFactory<Object, Object> consumers,
			ContainerCustomizer<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> customizer,
			KafkaTemplate<?, ?> kafka) {
		return factory(configurer, consumers, customizer,
				new DefaultErrorHandler(new DeadLetterPublishingRecoverer(kafka), new FixedBackOff(0, 2)));
	}

	@Bean
	ConcurrentKafkaListenerContainerFactory<Object, Object> loggingFactory(
			ConcurrentKafkaListenerContainerFactoryConfigurer configurer, ConsumerFactory<Object, Object> consumers,
			ContainerCustomizer<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> customizer) {
		return factory(configurer, consumers, customizer, new CommonLoggingErrorHandler());
	}

	@Bean
	ConcurrentKafkaListenerContainerFactory<Object, Object> unseekingFactory(
			ConcurrentKafkaListenerContainerFactoryConfigurer configurer, ConsumerFactory<Object, Object> consumers,
			ContainerCustomizer<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> customizer) {
		return factory(configurer, consumers, customizer, new CommonErrorHandler() {

			@Override
			public boolean handleOne(Exception thrownException, ConsumerRecord<?, ?> record, Consumer<?, ?> consumer,
					MessageListenerContainer container) {
				return true;
			}

		});
	}

	private static ConcurrentKafkaListenerContainerFactory<Object, Object> factory(
			ConcurrentKafkaListenerContainerFactoryConfigurer configurer, ConsumerFactory<Object, Object> consumers,
			ContainerCustomizer<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> customizer,
			CommonErrorHandler errorHandler) {
		ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
		configurer.configure(factory, consumers);
		factory.setContainerCustomizer(customizer);
		factory.setCommonErrorHandler(errorHandler);
		return factory;
	}

	@Bean
	ContainerCustomizer<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> countAssignments(
			WaitingLog log) {
		return (container) -> container.getContainerProperties()
			.setConsumerRebalanceListener(new ConsumerAwareRebalanceListener() {

				@Override
				public void onPartitionsAssigned(Consumer<?, ?> consumer, Collection<TopicPartition> partitions) {
					partitions.stream()
						.map(TopicPartition::topic)
						.distinct()
						.forEach((topic) -> log.assignments(topic).incrementAndGet());
				}

			});
	}

	@Bean
	OperationObserver blocker(JdbcTemplate jdbc, WaitingLog log) {
		return new OperationObserver() {

			@Override
			public void handled(HandledOperation execution) {
				if (execution.key() == null) {
					return;
				}
				String scope = execution.key().scope();
				boolean rejoined = scope.equals("rejoined");
				if (execution.outcome() == Outcome.IN_PROGRESS) {
					log.blockedDeliveries(scope).incrementAndGet();
					if (rejoined) {
						CrashedOwner.endLease(jdbc, execution.key());
					}
				}
				else if (execution.outcome() == Outcome.FAILED && rejoined) {
					// Another owner claims the key between two attempts and crashes.
					CrashedOwner.claim(jdbc, execution.key());
				}
			}

		};
	}

}
