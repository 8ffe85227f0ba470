/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.setup;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.annotation.Lazy;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.AbstractKafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerEndpoint;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.config.MethodKafkaListenerEndpoint;
import org.springframework.kafka.config.MultiMethodKafkaListenerEndpoint;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.support.TopicPartitionOffset;
import org.springframework.util.StringUtils;

import dev.idempotency.Idempotent;
import dev.idempotency.ListenerCensus;
import dev.idempotency.Mode;
import dev.idempotency.listener.delivery.ListenerSettings;
import dev.idempotency.listener.delivery.ManualAcknowledgments;
import dev.idempotency.listener.delivery.PolledRecordsInterceptor;
import dev.idempotency.listener.delivery.ProtectedListeners;
import dev.idempotency.listener.delivery.ProtectedListeners.ProtectedListener;
import dev.idempotency.listener.delivery.TopicIdentities;
import dev.idempotency.listener.function.IdempotentFunction;
import dev.idempotency.listener.key.ListenerScope;
import dev.idempotency.listener.method.IdempotentAdvisor;
import dev.idempotency.listener.method.ListenerShape;
import dev.idempotency.listener.observation.ObservedBatchListener;
import dev.idempotency.listener.range.ListenerTopics;
import dev.idempotency.listener.range.TopicIds;
import dev.idempotency.reconcile.Reconciliation;

/**
 * Protects the containers of endpoints that have {@code @Idempotent} methods. Other
 * containers are not changed.
 *
 * @param settings creates the settings of a method
 * @param installations installs the decorators
 * @param retentions checks the retentions of topics
 * @param scopes the protected listeners and their scopes
 * @param acknowledgments the acknowledgments of containers in the manual ack modes
 * @param topicIds finds the ids of topics
 * @param reconciliation compares topics with the store
 * @param members checks the members of consumer groups
 * @param census all listeners of the application
 * @param observations the registry of observations
 * @since 0.1.0
 */
@Lazy
public record ContainerProtection(ListenerSettingsFactory settings, ContainerInstallations installations,
		TopicRetentions retentions, ListenerScopes scopes, ManualAcknowledgments acknowledgments, TopicIds topicIds,
		Reconciliation reconciliation, GroupMembers members, ListenerCensus census,
		ObjectProvider<ObservationRegistry> observations) {

	private void protect(MessageListenerContainer container, MethodKafkaListenerEndpoint<?, ?> endpoint,
			KafkaListenerContainerFactory<?> factory, KafkaListenerEndpointRegistry registry) {
		Object bean = endpoint.getBean();
		Class<?> targetClass = AopUtils.getTargetClass(bean);
		ListenerChecks.checkType(container, ListenerSettings.where(methods(endpoint).get(0), targetClass));
		MessageListenerContainer main = main(container, endpoint, registry);
		Map<Method, ProtectedListener> listeners = new HashMap<>();
		List<ListenerScopes.Reader> readers = new ArrayList<>();
		ConsumerFactory<?, ?> consumers = (factory instanceof AbstractKafkaListenerContainerFactory<?, ?, ?> known)
				? known.getConsumerFactory() : null;
		Map<String, Object> consumer = ContainerInstallations.consumerProperties(container, consumers);
		Function<String, UUID> ids = (topic) -> this.topicIds.find(consumer, topic);
		TopicIdentities identities = new TopicIdentities(ids);
		for (Method candidate : methods(endpoint)) {
			Idempotent annotation = IdempotentAdvisor.annotation(candidate, targetClass);
			if (annotation == null) {
				continue;
			}
			Method method = AopUtils.getMostSpecificMethod(candidate, targetClass);
			ListenerShape shape = ListenerShape.of(ListenerSettings.where(method, targetClass), method, targetClass,
					container);
			new ListenerChecks(shape, container).check(bean, ContainerInstallations.isAutoCommit(consumer));
			// A retry topic has the methods of the main endpoint. Any other method is its
			// dead-letter handler.
			ListenerScope mainScope = (main != container)
					? this.scopes.ofEndpoint(endpoint.getMainListenerId()).get(method) : null;
			boolean deadLetter = main != container && mainScope == null;
			ListenerScope scope = new ListenerScope(this.settings.resolve(annotation.scope()),
					(endpoint instanceof MultiMethodKafkaListenerEndpoint<?, ?>) ? method.getName() : null, main,
					container, deadLetter, shape.name());
			ListenerSettings listenerSettings = this.settings.create(annotation, shape, shape.resultType(),
					new OffsetChoice(container, scope, main == container, identities, false));
			if (mainScope != null) {
				mainScope.requireKeys("it has a retry topic, whose records are processed after later ones");
				mainScope.markRetried();
			}
			else {
				this.scopes.log(container, listenerSettings);
				this.census.add(ListenerDeclarations.protectedListener(container, listenerSettings));
			}
			if (main == container) {
				this.scopes.ofEndpoint(endpoint.getId()).put(method, scope);
				this.scopes.separateOffsets(scope);
				readers.add(new ListenerScopes.Reader(scope, container,
						() -> registry.getListenerContainer(String.valueOf(endpoint.getId()))));
			}
			register(container, shape, listenerSettings, consumer);
			ProtectedListener listener = shape.protect(listenerSettings);
			listeners.put(method, shape.batch()
					? ObservedBatchListener.observe(listener, container.getContainerProperties(), this.observations)
					: listener);
			if (main == container && consumers != null && mayClaimAhead(endpoint, container, shape, listenerSettings)) {
				PolledRecordsInterceptor.install(container.getContainerProperties(), consumers);
			}
		}
		ListenerChecks.checkNotMixed(methods(endpoint), targetClass);
		this.scopes.check(readers);
		ProtectedListeners protectedListeners = new ProtectedListeners(targetClass, listeners,
				this.acknowledgments.create(container),
				ListenerShape.isAcknowledging(methods(endpoint), targetClass, container), identities);
		this.installations.install((AbstractMessageListenerContainer<?, ?>) container, protectedListeners);
		if (main == container) {
			this.reconciliation.add(new ListenerTopics(String.valueOf(endpoint.getId()), container, protectedListeners,
					consumers, consumer, hasErrorHandler(endpoint, targetClass), ids, registry));
		}
	}

	private static boolean hasErrorHandler(MethodKafkaListenerEndpoint<?, ?> endpoint, Class<?> targetClass) {
		return Stream.concat(methods(endpoint).stream(), Stream.of(targetClass))
			.flatMap((element) -> MergedAnnotations.from(element, SearchStrategy.TYPE_HIERARCHY)
				.stream(KafkaListener.class))
			.anyMatch((annotation) -> StringUtils.hasText(annotation.getString("errorHandler")));
	}

	// Protect the container of a function. Its listener is set later.
	public void protect(AbstractMessageListenerContainer<?, ?> container, IdempotentFunction function) {
		ListenerShape shape = ListenerShape.of(function.name(), function.method(), function.targetClass(), container);
		new ListenerChecks(shape, container).checkFunction();
		ListenerScope scope = new ListenerScope(this.settings.resolve(function.annotation().scope()), null, container,
				container, false, function.name());
		// The offsets of functions are never compared.
		TopicIdentities identities = new TopicIdentities((topic) -> {
			throw new IllegalStateException("The id of the topic " + topic + " is not known");
		});
		ListenerSettings listenerSettings = this.settings.create(function.annotation(), shape, function.result(),
				new OffsetChoice(container, scope, true, identities, true));
		this.scopes.log(container, listenerSettings);
		this.census.add(ListenerDeclarations.protectedListener(container, listenerSettings));
		this.scopes.check(List.of(new ListenerScopes.Reader(scope, container, () -> container)));
		register(container, shape, listenerSettings, null);
		this.installations.install(container, new ProtectedListeners(function.targetClass(),
				Map.of(function.method(), shape.protect(listenerSettings)), this.acknowledgments.create(container),
				ListenerShape.isAcknowledging(List.of(function.method()), function.targetClass(), container),
				identities));
	}

	// A record of a retry topic waits for its time, and the method that receives the next
	// record of a class with several methods is not known.
	private boolean mayClaimAhead(KafkaListenerEndpoint endpoint, MessageListenerContainer container,
			ListenerShape shape, ListenerSettings listener) {
		return this.settings.defaults().claimAhead() && listener.mode() == Mode.LEASED && !shape.batch()
				&& shape.async() == null && !shape.kafkaTransaction()
				&& !ManualAcknowledgments.isManual(container.getContainerProperties().getAckMode())
				&& !(endpoint instanceof MultiMethodKafkaListenerEndpoint<?, ?>)
				&& listener.template().supportsClaimAhead() && listener.operations().canResolveAhead();
	}

	// Spring Kafka registers the main container before those of its retry topics.
	private static MessageListenerContainer main(MessageListenerContainer container, KafkaListenerEndpoint endpoint,
			KafkaListenerEndpointRegistry registry) {
		String mainId = endpoint.getMainListenerId();
		MessageListenerContainer main = (mainId != null && !mainId.equals(endpoint.getId()))
				? registry.getListenerContainer(mainId) : null;
		return (main != null) ? main : container;
	}

	private void register(MessageListenerContainer container, ListenerShape shape, ListenerSettings listener,
			@Nullable Map<String, Object> consumer) {
		this.scopes.add(shape, listener);
		this.members.add(container.getGroupId(), listener, consumer);
		if (!listener.operations().isKeyless()) {
			this.retentions.add(listener.name(), container.getContainerProperties(), listener.retention());
		}
	}

	static List<Method> methods(MethodKafkaListenerEndpoint<?, ?> endpoint) {
		return (endpoint instanceof MultiMethodKafkaListenerEndpoint<?, ?> multi) ? multi.getMethods()
				: List.of(endpoint.getMethod());
	}

	/**
	 * Protects each container of another factory when that factory has finished it.
	 *
	 * @param delegate the factory
	 * @param protection supplies the protection
	 * @param declarations checks that each listener declares whether it is protected
	 * @param registry the registry of the endpoints
	 */
	record ProtectingFactory(KafkaListenerContainerFactory<?> delegate, Supplier<ContainerProtection> protection,
			ListenerDeclarations declarations,
			KafkaListenerEndpointRegistry registry) implements KafkaListenerContainerFactory<MessageListenerContainer> {

		@Override
		public MessageListenerContainer createListenerContainer(KafkaListenerEndpoint endpoint) {
			MessageListenerContainer container = this.delegate.createListenerContainer(endpoint);
			if (endpoint instanceof MethodKafkaListenerEndpoint<?, ?> methodEndpoint) {
				this.declarations.check(container, methodEndpoint);
				if (isIdempotent(methodEndpoint)) {
					this.protection.get().protect(container, methodEndpoint, this.delegate, this.registry);
				}
			}
			return container;
		}

		private static boolean isIdempotent(MethodKafkaListenerEndpoint<?, ?> endpoint) {
			Class<?> targetClass = AopUtils.getTargetClass(endpoint.getBean());
			return methods(endpoint).stream()
				.anyMatch((method) -> IdempotentAdvisor.annotation(method, targetClass) != null);
		}

		@Override
		public MessageListenerContainer createContainer(TopicPartitionOffset... topicPartitions) {
			return this.delegate.createContainer(topicPartitions);
		}

		@Override
		public MessageListenerContainer createContainer(String... topics) {
			return this.delegate.createContainer(topics);
		}

		@Override
		public MessageListenerContainer createContainer(Pattern topicPattern) {
			return this.delegate.createContainer(topicPattern);
		}

	}

}
