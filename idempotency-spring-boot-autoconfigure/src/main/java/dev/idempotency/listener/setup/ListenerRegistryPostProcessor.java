/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.setup;

import java.util.stream.Stream;

import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.AbstractAdvisingBeanPostProcessor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.NameMatchMethodPointcut;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.context.annotation.Role;
import org.springframework.kafka.config.KafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.listener.setup.ContainerProtection.ProtectingFactory;

/**
 * Intercepts the registration of containers at the endpoint registry, so that each
 * container of an idempotent listener is protected. All containers are registered there:
 * those of listeners, retry topics and dead-letter topics, those that are registered
 * late, and those of any container factory. The proxy is always a class proxy, because
 * Spring Kafka injects the registry by its class.
 */
@SuppressWarnings("serial")
@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
final class ListenerRegistryPostProcessor extends AbstractAdvisingBeanPostProcessor implements MethodInterceptor {

	private final transient ObjectProvider<ContainerProtection> protection;

	private final transient ObjectProvider<ListenerDeclarations> declarations;

	ListenerRegistryPostProcessor(ObjectProvider<ContainerProtection> protection,
			ObjectProvider<ListenerDeclarations> declarations) {
		this.protection = protection;
		this.declarations = declarations;
		NameMatchMethodPointcut pointcut = new NameMatchMethodPointcut();
		pointcut.setMappedName("registerListenerContainer");
		this.advisor = new DefaultPointcutAdvisor(pointcut, this);
		setProxyTargetClass(true);
		setBeforeExistingAdvisors(true);
	}

	@Override
	protected boolean isEligible(Class<?> targetClass) {
		return KafkaListenerEndpointRegistry.class.isAssignableFrom(targetClass);
	}

	static void check(KafkaListenerEndpointRegistry registry) {
		if (!(registry instanceof Advised advised) || Stream.of(advised.getAdvisors())
			.noneMatch((advisor) -> advisor.getAdvice() instanceof ListenerRegistryPostProcessor)) {
			throw new IdempotencyConfigurationException(
					"The KafkaListenerEndpointRegistry was created before idempotent listeners could be protected.",
					"Remove the dependency on KafkaListenerEndpointRegistry from each bean that a BeanPostProcessor needs, "
							+ "or inject it as an ObjectProvider.");
		}
	}

	@Override
	public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
		KafkaListenerEndpointRegistry registry = (KafkaListenerEndpointRegistry) invocation.getThis();
		@Nullable Object[] arguments = invocation.getArguments();
		if (registry != null && arguments[1] instanceof KafkaListenerContainerFactory<?> factory) {
			arguments[1] = new ProtectingFactory(factory, this.protection::getObject, this.declarations.getObject(),
					registry);
		}
		return invocation.proceed();
	}

}
