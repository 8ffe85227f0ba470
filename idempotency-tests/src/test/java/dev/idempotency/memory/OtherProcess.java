/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.memory;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;

import dev.idempotency.store.IdempotencyStore;

/**
 * The clock of the process that calls a store.
 */
final class OtherProcess {

	private static final ThreadLocal<Duration> CLOCK = ThreadLocal.withInitial(() -> Duration.ZERO);

	private OtherProcess() {
	}

	/**
	 * Return how far the clock of the calling process is ahead.
	 * @return the difference
	 */
	static Duration clock() {
		return CLOCK.get();
	}

	static IdempotencyStore of(IdempotencyStore store, Duration ahead) {
		return (IdempotencyStore) Proxy.newProxyInstance(OtherProcess.class.getClassLoader(),
				new Class<?>[] { IdempotencyStore.class }, (proxy, method, arguments) -> {
					CLOCK.set(ahead);
					try {
						return method.invoke(store, arguments);
					}
					catch (InvocationTargetException ex) {
						throw ex.getCause();
					}
					finally {
						CLOCK.remove();
					}
				});
	}

}
