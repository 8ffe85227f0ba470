/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.lang.reflect.Method;
import java.util.List;

import org.jspecify.annotations.Nullable;

import dev.idempotency.store.Ending;

/**
 * The names of the methods of a store, for proxies that intercept some of them.
 */
public final class StoreMethod {

	private StoreMethod() {
	}

	/**
	 * Return the name of a method. That of a settlement ends with the kind of its first
	 * element, for example {@code settleCompleted}.
	 * @param method the method
	 * @param arguments its arguments
	 * @return the name
	 */
	public static String name(Method method, Object @Nullable [] arguments) {
		String name = method.getName();
		return (name.startsWith("settle") && arguments[0] instanceof List<?> endings && !endings.isEmpty())
				? name + ((Ending) endings.get(0)).getClass().getSimpleName() : name;
	}

}
