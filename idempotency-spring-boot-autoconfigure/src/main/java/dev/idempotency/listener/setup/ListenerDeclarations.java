/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.setup;

import java.lang.reflect.Method;

import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.env.Environment;
import org.springframework.kafka.config.MethodKafkaListenerEndpoint;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.util.StringUtils;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.Idempotent;
import dev.idempotency.ListenerCensus;
import dev.idempotency.ListenerCensus.Listener;
import dev.idempotency.ListenerCensus.Protection;
import dev.idempotency.NotIdempotent;
import dev.idempotency.listener.delivery.ListenerSettings;
import dev.idempotency.listener.key.ListenerExpressions;
import dev.idempotency.listener.key.OperationResolver;
import dev.idempotency.listener.method.IdempotentAdvisor;

/**
 * Lists the listeners that are not protected, and checks that each listener declares
 * whether it is, if {@value #PROPERTY} requires that. The property is read here, because
 * the settings of listeners need a store, which an application without idempotent
 * listeners does not have.
 *
 * @param census the listeners
 * @param environment the properties of the application
 */
record ListenerDeclarations(ListenerCensus census, Environment environment) {

	static final String PROPERTY = "idempotency.require";

	void check(MessageListenerContainer container, MethodKafkaListenerEndpoint<?, ?> endpoint) {
		String main = endpoint.getMainListenerId();
		if (main != null && !main.equals(endpoint.getId())) {
			// A retry topic has the methods of the main endpoint.
			return;
		}
		Class<?> type = AopUtils.getTargetClass(endpoint.getBean());
		boolean required = "declared".equalsIgnoreCase(this.environment.getProperty(PROPERTY));
		for (Method candidate : ContainerProtection.methods(endpoint)) {
			Method method = AopUtils.getMostSpecificMethod(candidate, type);
			String name = ListenerSettings.where(method, type);
			NotIdempotent declared = declared(method, type);
			Idempotent idempotent = IdempotentAdvisor.annotation(candidate, type);
			IdempotencyConfigurationException.check(declared == null || idempotent == null,
					"The listener " + name + " is @Idempotent and @NotIdempotent.", "Remove one of them.");
			IdempotencyConfigurationException.check(declared == null || StringUtils.hasText(declared.value()),
					"@NotIdempotent on " + name + " gives no reason.",
					"Say why the records of the listener may take effect twice.");
			IdempotencyConfigurationException.check(!required || declared != null || idempotent != null,
					"The listener " + name + " does not declare whether it is protected, and '" + PROPERTY
							+ "' is 'declared'.",
					"Put @Idempotent on it, or @NotIdempotent with the reason why its records may take effect twice.");
			if (idempotent == null) {
				this.census.add(unprotected(name, container, endpoint, declared));
			}
		}
	}

	// Containers of other kinds have no properties, such as those of share consumers.
	private static Listener unprotected(String name, MessageListenerContainer container,
			MethodKafkaListenerEndpoint<?, ?> endpoint, @Nullable NotIdempotent declared) {
		boolean known = container instanceof AbstractMessageListenerContainer<?, ?>;
		return new Listener(name,
				known ? ListenerScopes.topics(container.getContainerProperties()) : "topics " + endpoint.getTopics(),
				known ? container.getGroupId() : endpoint.getGroupId(), null,
				(declared != null) ? declared.value() : null);
	}

	private static @Nullable NotIdempotent declared(Method method, Class<?> type) {
		NotIdempotent own = AnnotatedElementUtils.findMergedAnnotation(method, NotIdempotent.class);
		return (own != null) ? own : AnnotatedElementUtils.findMergedAnnotation(type, NotIdempotent.class);
	}

	static Listener protectedListener(MessageListenerContainer container, ListenerSettings settings) {
		OperationResolver operations = settings.operations();
		ListenerExpressions expressions = operations.expressions();
		return new Listener(settings.name(), ListenerScopes.topics(container.getContainerProperties()),
				container.getGroupId(),
				new Protection(settings.mode(), settings.template().name(), operations.scope().toString(),
						expressions.keyText(), expressions.fingerprintText(), operations.settings().onOtherContent(),
						settings.retention()),
				null);
	}

}
