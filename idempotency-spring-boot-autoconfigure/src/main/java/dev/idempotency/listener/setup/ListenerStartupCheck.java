/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.setup;

import java.lang.reflect.Method;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationListener;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.util.ClassUtils;

import dev.idempotency.listener.delivery.ListenerSettings;
import dev.idempotency.listener.function.FunctionProtection;
import dev.idempotency.listener.method.IdempotentAdvisor;

/**
 * Verifies, before any container starts, that the annotated methods are protected. The
 * post-processors of a context do not apply to the beans of its child contexts, so the
 * start of a child context with an idempotent listener fails.
 */
final class ListenerStartupCheck extends StartupCheck implements ApplicationListener<ContextRefreshedEvent> {

	private static final Log logger = LogFactory.getLog(ListenerStartupCheck.class);

	private final IdempotentAdvisor advisor;

	private final ApplicationContext context;

	ListenerStartupCheck(IdempotentAdvisor advisor, ApplicationContext context) {
		super(Integer.MIN_VALUE);
		this.context = context;
		this.advisor = advisor;
	}

	@Override
	protected void check() {
		if (!this.advisor.isUsed()) {
			return;
		}
		this.context.getBeanProvider(KafkaListenerEndpointRegistry.class)
			.ifAvailable(ListenerRegistryPostProcessor::check);
		ListenerScopes listeners = this.context.getBean(ContainerProtection.class).scopes();
		boolean checksFunctions = this.context.getBeanProvider(FunctionProtection.class).getIfAvailable() != null;
		for (Method method : this.advisor.markedMethods()) {
			if (!listeners.isProtected(method) && !(checksFunctions && FunctionProtection.isFunction(method))) {
				boolean listener = AnnotatedElementUtils.hasAnnotation(method, KafkaListener.class);
				logger.warn("@Idempotent has no effect on " + ListenerSettings.where(method, method.getDeclaringClass())
						+ (listener
								? " because no container is registered for its @KafkaListener. Add @EnableKafka, or the "
										+ "starter of Spring Boot for Kafka, which does the same"
								: " unless a Kafka listener is registered for it later. Put it on a @KafkaListener method. "
										+ "If Kafka does not call the code, as for a REST method, a job or a listener of "
										+ "another broker, use IdempotencyTemplate"));
			}
		}
	}

	// A child context publishes its events to its parent.
	@Override
	public void onApplicationEvent(ContextRefreshedEvent event) {
		ApplicationContext refreshed = event.getApplicationContext();
		if (refreshed == this.context || refreshed.getBeanNamesForType(getClass()).length > 0) {
			return;
		}
		for (String name : refreshed.getBeanDefinitionNames()) {
			Class<?> type = refreshed.getType(name, false);
			if (type != null && IdempotentAdvisor.isCandidate(ClassUtils.getUserClass(type))) {
				IdempotentAdvisor.listenerMethods(ClassUtils.getUserClass(type)).forEach((method) -> {
					throw ListenerChecks.refusal(ListenerSettings.where(method, method.getDeclaringClass()),
							"its bean belongs to the context '" + refreshed.getDisplayName()
									+ "', and the library is configured in a parent of that context only",
							"Declare the listener in the parent, or enable the auto-configuration in its own context.");
				});
			}
		}
	}

}
