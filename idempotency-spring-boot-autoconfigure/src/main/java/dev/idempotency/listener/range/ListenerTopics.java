/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.range;

import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.function.Function;

import org.apache.kafka.common.KafkaException;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.util.Assert;

import dev.idempotency.listener.delivery.DeliveryListener;
import dev.idempotency.listener.delivery.ProtectedListeners;
import dev.idempotency.listener.key.ListenerScope;
import dev.idempotency.listener.method.ListenerShape;
import dev.idempotency.reconcile.ReconcilableListener;
import dev.idempotency.reconcile.ReconciliationRequest;
import dev.idempotency.reconcile.TopicRange;

/**
 * A protected listener of a main endpoint, whose topics can be compared with the store.
 *
 * @param id the id of its container
 * @param container its container
 * @param listeners the protected methods by their names
 * @param consumers the factory of its consumers, {@code null} if it is not known
 * @param properties the configuration of its consumers
 * @param errorHandler whether it has a {@code KafkaListenerErrorHandler}
 * @param topicIds finds the id of a topic
 * @param registry the registry of its container
 */
public record ListenerTopics(String id, MessageListenerContainer container, ProtectedListeners listeners,
		@Nullable ConsumerFactory<?, ?> consumers, Map<String, Object> properties, boolean errorHandler,
		Function<String, UUID> topicIds, KafkaListenerEndpointRegistry registry) implements ReconcilableListener {

	@Override
	public boolean isRegistered() {
		return this.registry.getListenerContainer(this.id) == this.container;
	}

	@Override
	public Collection<String> names() {
		return this.listeners.listeners().values().stream().map((method) -> method.settings().name()).sorted().toList();
	}

	@Override
	public List<String> topics() {
		ContainerProperties settings = this.container.getContainerProperties();
		return (settings.getTopicPattern() != null) ? List.of(settings.getTopicPattern().pattern())
				: List.copyOf(new LinkedHashSet<>(ListenerScope.topics(settings)));
	}

	@Override
	public TopicRange open(ReconciliationRequest request) {
		// It would be called for a record that cannot be converted.
		Assert.state(!this.errorHandler,
				() -> "The listener '" + this.id
						+ "' has a KafkaListenerErrorHandler, which would be called although its records are only "
						+ "compared. Reconcile a listener without 'errorHandler'");
		Assert.state(this.consumers != null, () -> "The consumer factory of the listener '" + this.id
				+ "' is not known. Use a container factory that extends AbstractKafkaListenerContainerFactory");
		Assert.state(ListenerShape.listener(this.container) instanceof DeliveryListener<?, ?>,
				() -> "The message listener of the container '" + this.id
						+ "' was replaced. Restart the container, so that it is protected again");
		try {
			return ListenerRange.open(this, this.consumers, request);
		}
		catch (KafkaException ex) {
			throw new IllegalStateException("The topics of the listener '" + this.id + "' cannot be read: "
					+ ex.getMessage() + ". Check the broker and the privileges of the " + "consumer's user", ex);
		}
	}

	DeliveryListener<?, ?> listener() {
		return (DeliveryListener<?, ?>) Objects.requireNonNull(ListenerShape.listener(this.container));
	}

}
