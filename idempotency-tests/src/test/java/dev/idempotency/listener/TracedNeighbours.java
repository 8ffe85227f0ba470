/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.List;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.kafka.autoconfigure.ConcurrentKafkaListenerContainerFactoryConfigurer;
import org.springframework.context.ApplicationListener;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.config.ContainerCustomizer;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.core.ProducerFactory;
import org.springframework.kafka.event.KafkaEvent;
import org.springframework.kafka.event.NonResponsiveConsumerEvent;
import org.springframework.kafka.listener.BatchInterceptor;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.kafka.listener.DeadLetterPublishingRecoverer;
import org.springframework.kafka.listener.DefaultAfterRollbackProcessor;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.KafkaListenerErrorHandler;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.listener.RecordInterceptor;
import org.springframework.kafka.listener.adapter.RecordFilterStrategy;
import org.springframework.util.backoff.FixedBackOff;

/**
 * The callbacks that an application may add to its listeners. All of them trace their
 * calls.
 */
@Configuration(proxyBeanMethods = false)
class TracedNeighbours {

	@Bean
	static Trace trace(@Value("${prefix}") String prefix) {
		return Trace.of(prefix);
	}

	@Bean
	static TracedTransactions transactions(@Value("${prefix}") String prefix, ProducerFactory<?, ?> producers,
			Trace trace) {
		return new TracedTransactions(prefix, producers, trace);
	}

	@Bean
	RecordInterceptor<Object, Object> recordInterceptor(Trace trace) {
		return new RecordInterceptor<>() {

			@Override
			public ConsumerRecord<Object, Object> intercept(ConsumerRecord<Object, Object> record,
					Consumer<Object, Object> consumer) {
				trace.add(record, "intercept");
				return record;
			}

			@Override
			public void success(ConsumerRecord<Object, Object> record, Consumer<Object, Object> consumer) {
				trace.add(record, "success");
			}

			@Override
			public void failure(ConsumerRecord<Object, Object> record, Exception exception,
					Consumer<Object, Object> consumer) {
				trace.add(record, "failure " + exception + " caused by " + exception.getCause());
			}

			@Override
			public void afterRecord(ConsumerRecord<Object, Object> record, Consumer<Object, Object> consumer) {
				trace.add(record, "after");
			}

		};
	}

	@Bean
	BatchInterceptor<Object, Object> batchInterceptor(Trace trace) {
		return new BatchInterceptor<>() {

			@Override
			public ConsumerRecords<Object, Object> intercept(ConsumerRecords<Object, Object> records,
					Consumer<Object, Object> consumer) {
				records.forEach((record) -> trace.add(record, "intercept in batch"));
				return records;
			}

			@Override
			public void success(ConsumerRecords<Object, Object> records, Consumer<Object, Object> consumer) {
				records.forEach((record) -> trace.add(record, "success in batch"));
			}

			@Override
			public void failure(ConsumerRecords<Object, Object> records, Exception exception,
					Consumer<Object, Object> consumer) {
				records.forEach((record) -> trace.add(record, "failure in batch " + exception));
			}

		};
	}

	@Bean
	RecordFilterStrategy<Object, Object> filter(Trace trace) {
		return (record) -> {
			trace.add(record, "filter");
			// Spring Kafka does not acknowledge filtered
			// records of an asynchronous listener.
			return "filtered".equals(record.value()) && !record.topic().endsWith("async");
		};
	}

	@Bean
	DefaultErrorHandler errorHandler(Trace trace, KafkaTemplate<?, ?> template) {
		DeadLetterPublishingRecoverer letters = new DeadLetterPublishingRecoverer(template,
				(record, ex) -> new TopicPartition(record.topic() + "-dead", 0));
		DefaultErrorHandler errorHandler = new DefaultErrorHandler((record, ex) -> {
			trace.add(record, "recover " + ex.getCause());
			letters.accept(record, ex);
		}, new FixedBackOff(0, 2));
		errorHandler.setRetryListeners((record, ex, attempt) -> trace.add(record, "attempt " + attempt + " " + ex));
		return errorHandler;
	}

	@Bean
	KafkaListenerErrorHandler listenerErrorHandler(Trace trace) {
		return (message, exception) -> {
			trace.add("swallowed", "swallow " + message.getPayload() + " " + exception.getCause());
			return null;
		};
	}

	@Bean
	ContainerCustomizer<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> customizer(Trace trace) {
		return (container) -> trace.add("customized", container.getListenerId());
	}

	@Bean
	ApplicationListener<KafkaEvent> events(Trace trace) {
		return (event) -> {
			// Shows only that the machine was slow.
			if (event instanceof NonResponsiveConsumerEvent) {
				return;
			}
			String id = event.getContainer(MessageListenerContainer.class).getListenerId();
			trace.add("events of " + id, event.getClass().getName());
		};
	}

	@Bean
	ConcurrentKafkaListenerContainerFactory<Object, Object> manualFactory(
			ConcurrentKafkaListenerContainerFactoryConfigurer configurer, ConsumerFactory<Object, Object> consumers) {
		ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
		configurer.configure(factory, consumers);
		factory.getContainerProperties().setAckMode(AckMode.MANUAL);
		return factory;
	}

	@Bean
	ConcurrentKafkaListenerContainerFactory<Object, Object> transactionFactory(
			ConcurrentKafkaListenerContainerFactoryConfigurer configurer, ConsumerFactory<Object, Object> consumers,
			TracedTransactions transactions, Trace trace) {
		ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
		configurer.configure(factory, consumers);
		factory.setCommonErrorHandler(null);
		factory.getContainerProperties().setKafkaAwareTransactionManager(transactions.manager());
		factory.setAfterRollbackProcessor(new DefaultAfterRollbackProcessor<>(new FixedBackOff(0, 2)) {

			@Override
			public void process(List<ConsumerRecord<Object, Object>> records, Consumer<Object, Object> consumer,
					@Nullable MessageListenerContainer container, Exception exception, boolean recoverable,
					ContainerProperties.EOSMode eosMode) {
				trace.add(records.get(0), "after rollback " + exception);
				super.process(records, consumer, container, exception, recoverable, eosMode);
			}

		});
		return factory;
	}

}
