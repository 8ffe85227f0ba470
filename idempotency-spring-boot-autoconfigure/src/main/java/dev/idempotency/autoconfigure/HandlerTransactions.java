/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.util.Objects;
import java.util.function.BiFunction;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.beans.factory.annotation.BeanFactoryAnnotationUtils;
import org.springframework.transaction.TransactionManager;
import org.springframework.transaction.interceptor.TransactionAspectSupport;
import org.springframework.transaction.interceptor.TransactionAttribute;
import org.springframework.util.StringUtils;

/**
 * Determines whether {@code @Transactional} of a handler uses the transaction manager of
 * the store. It follows the rules of {@link TransactionAspectSupport}: the qualifier of
 * the annotation, the qualifier of the class, the transaction manager of the interceptor,
 * and finally the only or primary transaction manager.
 *
 * @param beanFactory the beans of the application
 * @param store the transaction manager of the store, {@code null} if there is none
 */
record HandlerTransactions(BeanFactory beanFactory,
		@Nullable TransactionManager store) implements BiFunction<TransactionAttribute, Class<?>, @Nullable String> {

	@Override
	public @Nullable String apply(TransactionAttribute attribute, Class<?> handler) {
		String qualifier = attribute.getQualifier();
		if (StringUtils.hasText(qualifier)) {
			return (qualified(qualifier) != this.store) ? "'" + qualifier + "'" : null;
		}
		if (this.beanFactory.getBeanProvider(TransactionAspectSupport.class).stream().findAny().isEmpty()) {
			return null;
		}
		TransactionManager manager = unqualified(handler);
		if (manager == this.store) {
			return null;
		}
		return (manager != null) ? "the application's default transaction manager, a " + manager.getClass().getName()
				: "a transaction manager that its @Transactional does not specify (there are several)";
	}

	private TransactionManager qualified(String qualifier) {
		return BeanFactoryAnnotationUtils.qualifiedBeanOfType(this.beanFactory, TransactionManager.class, qualifier);
	}

	private @Nullable TransactionManager unqualified(Class<?> handler) {
		String qualifier = BeanFactoryAnnotationUtils.getQualifierValue(handler);
		if (StringUtils.hasText(qualifier)) {
			try {
				return qualified(qualifier);
			}
			catch (NoSuchBeanDefinitionException ex) {
				// The qualifier of the class does not name a transaction manager.
			}
		}
		return this.beanFactory.getBeanProvider(TransactionAspectSupport.class)
			.stream()
			.map(TransactionAspectSupport::getTransactionManager)
			.filter(Objects::nonNull)
			.findFirst()
			.orElseGet(() -> this.beanFactory.getBeanProvider(TransactionManager.class).getIfUnique());
	}

}
