/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.stream;

import java.util.function.BiFunction;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.cloud.stream.binder.ExtendedConsumerProperties;
import org.springframework.cloud.stream.binder.kafka.KafkaListenerContainerCustomizer;
import org.springframework.cloud.stream.binder.kafka.ListenerContainerWithDlqAndRetryCustomizer;
import org.springframework.cloud.stream.binder.kafka.properties.KafkaConsumerProperties;
import org.springframework.cloud.stream.config.ConsumerEndpointCustomizer;
import org.springframework.cloud.stream.config.ListenerContainerCustomizer;
import org.springframework.integration.kafka.inbound.KafkaMessageDrivenChannelAdapter;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.util.backoff.BackOff;

/**
 * The customizers of the application, as the binder injects them.
 *
 * @param container customizes containers, {@code null} if there is none
 * @param endpoint customizes channel adapters, {@code null} if there is none
 */
record BindingCustomizers(@Nullable ListenerContainerCustomizer<AbstractMessageListenerContainer<?, ?>> container,
		@Nullable ConsumerEndpointCustomizer<KafkaMessageDrivenChannelAdapter<?, ?>> endpoint) {

	// Return a customizer that protects each channel adapter after the application
	// has customized it.
	ConsumerEndpointCustomizer<KafkaMessageDrivenChannelAdapter<?, ?>> protectingEndpoints(
			BindingProtection protection) {
		return (adapter, destination, group) -> {
			if (this.endpoint != null) {
				this.endpoint.configure(adapter, destination, group);
			}
			protection.protectRetries(adapter);
		};
	}

	/**
	 * Protects each container after the application has customized it, and calls the
	 * customizer of the application in the same way as the binder.
	 *
	 * @param delegate the customizer of the application, {@code null} if there is none
	 * @param protection protects containers
	 */
	record Containers(@Nullable ListenerContainerCustomizer<AbstractMessageListenerContainer<?, ?>> delegate,
			BindingProtection protection) implements ListenerContainerWithDlqAndRetryCustomizer {

		@Override
		public boolean retryAndDlqInBinding(String destination, String group) {
			return !(this.delegate instanceof ListenerContainerWithDlqAndRetryCustomizer customizer)
					|| customizer.retryAndDlqInBinding(destination, group);
		}

		// The binder calls the method with the properties.
		@Override
		public void configure(AbstractMessageListenerContainer<?, ?> container, String destination, String group,
				@Nullable BiFunction<ConsumerRecord<?, ?>, Exception, TopicPartition> deadLetters,
				@Nullable BackOff backOff) {
			throw new UnsupportedOperationException("The binder must pass the properties of the consumer");
		}

		@Override
		public void configure(AbstractMessageListenerContainer<?, ?> container, String destination, String group,
				@Nullable BiFunction<ConsumerRecord<?, ?>, Exception, TopicPartition> deadLetters,
				@Nullable BackOff backOff, ExtendedConsumerProperties<KafkaConsumerProperties> properties) {
			if (this.delegate instanceof ListenerContainerWithDlqAndRetryCustomizer customizer) {
				customizer.configure(container, destination, group, deadLetters, backOff, properties);
			}
			else if (this.delegate instanceof KafkaListenerContainerCustomizer customizer) {
				customizer.configure(container, destination, group, properties);
			}
			else if (this.delegate != null) {
				this.delegate.configure(container, destination, group);
			}
			this.protection.protect(container, group, properties);
		}

	}

}
