/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.method;

import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.util.Arrays;

import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.ClassFilter;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.StaticMethodMatcherPointcutAdvisor;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.context.annotation.Role;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.transaction.NoTransactionException;
import org.springframework.transaction.interceptor.TransactionAspectSupport;
import org.springframework.transaction.support.DefaultTransactionStatus;

import dev.idempotency.listener.delivery.Delivery;

/**
 * Records whether a transactional listener method has set its own transaction to
 * rollback-only. The surrounding transaction of transactional mode cannot tell this from
 * a failed inner method whose exception was swallowed, which is a failure.
 */
@SuppressWarnings("serial")
@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
public final class RollbackOnlyAdvisor extends StaticMethodMatcherPointcutAdvisor {

	private static final String[] TRANSACTIONAL = { "org.springframework.transaction.annotation.Transactional",
			"jakarta.transaction.Transactional" };

	public RollbackOnlyAdvisor() {
		setAdvice((MethodInterceptor) RollbackOnlyAdvisor::invoke);
		setClassFilter((ClassFilter) IdempotentAdvisor::isCandidate);
		// Inside the transaction advisor, which has
		// the same order and is registered earlier.
		setOrder(Ordered.LOWEST_PRECEDENCE);
	}

	private static @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
		Object result = invocation.proceed();
		Delivery delivery = Delivery.current();
		if (delivery != null && delivery.listener(invocation.getMethod()) != null) {
			delivery.setRollbackOnly(isLocalRollbackOnly());
		}
		return result;
	}

	private static boolean isLocalRollbackOnly() {
		try {
			return TransactionAspectSupport.currentTransactionStatus() instanceof DefaultTransactionStatus status
					&& status.isLocalRollbackOnly();
		}
		catch (NoTransactionException ex) {
			return false;
		}
	}

	@Override
	public boolean matches(Method method, Class<?> targetClass) {
		return IdempotentAdvisor.isMarked(method, targetClass)
				&& (isTransactional(AopUtils.getMostSpecificMethod(method, targetClass))
						|| isTransactional(targetClass));
	}

	private static boolean isTransactional(AnnotatedElement element) {
		MergedAnnotations annotations = MergedAnnotations.from(element, SearchStrategy.TYPE_HIERARCHY);
		return Arrays.stream(TRANSACTIONAL).anyMatch(annotations::isPresent);
	}

}
