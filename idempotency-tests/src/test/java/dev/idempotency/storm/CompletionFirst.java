/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;

import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.util.ClassUtils;

import dev.idempotency.evidence.EvidenceRun;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.IdempotencyStore;

/**
 * A fault that the evidence must show: completes each operation of leased mode before its
 * handler runs, so that a kill loses the operations in between.
 */
final class CompletionFirst implements BeanPostProcessor {

	static boolean isEnabled() {
		return Boolean.getBoolean(EvidenceRun.FAULT);
	}

	@Override
	public Object postProcessAfterInitialization(Object bean, String name) {
		if (!(bean instanceof IdempotencyStore store) || !isEnabled()) {
			return bean;
		}
		return Proxy.newProxyInstance(bean.getClass().getClassLoader(), ClassUtils.getAllInterfaces(bean),
				(proxy, method, arguments) -> invoke(store, method, arguments));
	}

	private static Object invoke(IdempotencyStore store, Method method, Object[] arguments) throws Throwable {
		if (method.getName().equals("supportsClaimAhead")) {
			return false;
		}
		try {
			Object result = method.invoke(store, arguments);
			if (method.getName().equals("claim")) {
				complete(store, (List<?>) arguments[0], (List<?>) result);
			}
			return result;
		}
		catch (InvocationTargetException ex) {
			throw ex.getTargetException();
		}
	}

	private static void complete(IdempotencyStore store, List<?> requests, List<?> claims) {
		for (int i = 0; i < requests.size(); i++) {
			if (claims.get(i) instanceof Claim.Acquired) {
				store.settle(List.of(new Ending.Completed((ClaimRequest) requests.get(i), null)));
			}
		}
	}

}
