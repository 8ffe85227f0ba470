/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;

import dev.idempotency.store.IdempotencyStore;

/**
 * Lets {@link StoreFaults} intercept the calls of each store of the context.
 */
final class StoreFaultsPostProcessor implements BeanPostProcessor {

	private final ObjectProvider<StoreFaults> faults;

	StoreFaultsPostProcessor(ObjectProvider<StoreFaults> faults) {
		this.faults = faults;
	}

	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		return (bean instanceof IdempotencyStore store) ? this.faults.getObject().intercept(store) : bean;
	}

}
