/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.setup;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;

import org.springframework.aop.config.AopConfigUtils;
import org.springframework.aop.framework.ProxyConfig;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.annotation.Role;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

import dev.idempotency.listener.delivery.ListenerSettings;
import dev.idempotency.listener.method.IdempotentAdvisor;

/**
 * Rejects final classes with idempotent methods with an explanation, before Spring fails
 * to create their proxy. In Kotlin, classes are final by default.
 *
 * @param beanFactory the beans of the application
 */
@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
record FinalClassCheck(BeanFactory beanFactory) implements BeanPostProcessor {

	@Override
	public Object postProcessBeforeInitialization(Object bean, String beanName) {
		Class<?> type = bean.getClass();
		if (Modifier.isFinal(type.getModifiers()) && IdempotentAdvisor.isCandidate(type)
				&& !isProxiedByInterfaces(type)) {
			for (Method method : ReflectionUtils.getUniqueDeclaredMethods(type)) {
				if (method.getDeclaringClass() != Object.class && IdempotentAdvisor.isMarked(method, type)) {
					throw ListenerChecks.refusal(ListenerSettings.where(method, type),
							"its class is final, so a proxy cannot extend it",
							"Remove 'final' from the class. In Kotlin, declare the class and its listener methods 'open', or use the "
									+ "kotlin-spring plugin.");
				}
			}
		}
		return bean;
	}

	private boolean isProxiedByInterfaces(Class<?> type) {
		return ClassUtils.getAllInterfacesForClass(type).length > 0
				&& this.beanFactory.containsBean(AopConfigUtils.AUTO_PROXY_CREATOR_BEAN_NAME)
				&& this.beanFactory.getBean(AopConfigUtils.AUTO_PROXY_CREATOR_BEAN_NAME) instanceof ProxyConfig creator
				&& !creator.isProxyTargetClass();
	}

}
