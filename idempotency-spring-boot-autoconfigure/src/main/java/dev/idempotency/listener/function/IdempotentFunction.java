/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.function;

import java.lang.reflect.Method;
import java.lang.reflect.Type;

import org.jspecify.annotations.Nullable;

import dev.idempotency.Idempotent;

/**
 * A function bean that {@link Idempotent} annotates.
 *
 * @param name the name of the bean, which is the name of the listener in messages and
 * meters
 * @param annotation the annotation of its bean method, its class or its method
 * @param method the method of the functional interface, as its class implements it
 * @param targetClass its class
 * @param result the type of its result, {@code null} if it returns nothing
 * @since 0.1.0
 */
public record IdempotentFunction(String name, Idempotent annotation, Method method, Class<?> targetClass,
		@Nullable Type result) {

}
