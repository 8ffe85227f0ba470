/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.delivery;

import java.lang.reflect.Modifier;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.AcknowledgingConsumerAwareMessageListener;
import org.springframework.kafka.listener.AcknowledgingMessageListener;
import org.springframework.kafka.listener.AfterRollbackProcessor;
import org.springframework.kafka.listener.BatchAcknowledgingConsumerAwareMessageListener;
import org.springframework.kafka.listener.BatchAcknowledgingMessageListener;
import org.springframework.kafka.listener.BatchConsumerAwareMessageListener;
import org.springframework.kafka.listener.BatchInterceptor;
import org.springframework.kafka.listener.BatchMessageListener;
import org.springframework.kafka.listener.CommonErrorHandler;
import org.springframework.kafka.listener.ConsumerAwareMessageListener;
import org.springframework.kafka.listener.ConsumerSeekAware;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.DeliveryAttemptAware;
import org.springframework.kafka.listener.KafkaMessageListenerContainer;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.kafka.listener.RecordInterceptor;
import org.springframework.kafka.listener.adapter.AsyncRepliesAware;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.kafka.transaction.KafkaTransactionManager;

import dev.idempotency.listener.consumer.ConsumerLocal;
import dev.idempotency.listener.error.BlockedRecordHandling;
import dev.idempotency.testsupport.HandedOn;

/**
 * Tests that the decorators of Spring Kafka's types hand on each method that the running
 * version has. {@code ArchitectureTests} lists the decorators. No class decorates a
 * {@code MessageListenerContainer}. If a newer version has a method that is not handed
 * on, see the package {@code listener.springkafka}.
 */
@Tag("promise-13")
class DecoratorTests {

	private final BlockedRecordHandling handling = new BlockedRecordHandling();

	private final ProtectedListeners listeners = new ProtectedListeners(Object.class, Map.of(),
			ContainerAcknowledgments.NONE, false, new TopicIdentities((topic) -> new UUID(0, 0)));

	private final ContainerProperties properties = new ContainerProperties("topic");

	private final AbstractMessageListenerContainer<Object, Object> container = new KafkaMessageListenerContainer<>(
			new DefaultKafkaConsumerFactory<>(Map.of()), this.properties);

	@AfterEach
	void stop() {
		this.handling.destroy();
		ConsumerLocal.end();
	}

	private void install() {
		this.handling.install(this.container, this.listeners::failed, this.listeners.asyncRetries());
	}

	@Test
	void errorHandlerIsCalled() {
		HandedOn.check(CommonErrorHandler.class, (application) -> {
			this.container.setCommonErrorHandler(application);
			install();
			return this.container.getCommonErrorHandler();
		},
				// Only the default methods of the interface call it.
				"logger()");
	}

	@Test
	@SuppressWarnings("unchecked")
	void afterRollbackProcessorIsCalled() {
		DefaultKafkaProducerFactory<Object, Object> producers = new DefaultKafkaProducerFactory<>(Map.of());
		producers.setTransactionIdPrefix("transaction");
		this.properties.setKafkaAwareTransactionManager(new KafkaTransactionManager<>(producers));
		HandedOn.check(List.of(AfterRollbackProcessor.class, DeliveryAttemptAware.class), AfterRollbackProcessor.class,
				(application) -> {
					this.container.setAfterRollbackProcessor((AfterRollbackProcessor<Object, Object>) application);
					install();
					return this.container.getAfterRollbackProcessor();
				});
	}

	@Test
	@SuppressWarnings("unchecked")
	void interceptorsAreCalled() {
		HandedOn.check(RecordInterceptor.class, (application) -> {
			this.container.setRecordInterceptor(application);
			install();
			return this.container.getRecordInterceptor();
		});
		HandedOn.check(BatchInterceptor.class, (application) -> {
			this.container.setBatchInterceptor(application);
			install();
			return this.container.getBatchInterceptor();
		});
	}

	// A container calls the method for the kind of the innermost listener, and no other.
	@ParameterizedTest
	@ValueSource(classes = { MessageListener.class, AcknowledgingMessageListener.class,
			ConsumerAwareMessageListener.class, AcknowledgingConsumerAwareMessageListener.class,
			BatchMessageListener.class, BatchAcknowledgingMessageListener.class,
			BatchConsumerAwareMessageListener.class, BatchAcknowledgingConsumerAwareMessageListener.class })
	void listenerIsCalled(Class<?> kind) {
		String own = Stream.of(kind.getMethods())
			.filter((method) -> Modifier.isAbstract(method.getModifiers()))
			.map((method) -> Stream.of(method.getParameterTypes())
				.skip(1)
				.map((parameter) -> ", " + parameter.getSimpleName())
				.collect(Collectors.joining()))
			.collect(Collectors.joining());
		String[] others = Stream.of("", ", Acknowledgment", ", Consumer", ", Acknowledgment, Consumer")
			.filter((parameters) -> !parameters.equals(own))
			.map((parameters) -> "onMessage(Object" + parameters + ")")
			.toArray(String[]::new);
		HandedOn.check(
				BatchMessageListener.class.isAssignableFrom(kind)
						? List.of(BatchMessageListener.class, ConsumerSeekAware.class)
						: List.of(MessageListener.class, ConsumerSeekAware.class, AsyncRepliesAware.class),
				kind, (application) -> DeliveryListener.decorate(application, this.listeners, false), others);
	}

	@Test
	void acknowledgmentIsCalled() {
		HandedOn.check(Acknowledgment.class, (application) -> Objects.requireNonNull(
				new Delivery(this.listeners, List.of(new ConsumerRecord<>("topic", 0, 0, "key", "value")), application)
					.acknowledgment()));
	}

}
