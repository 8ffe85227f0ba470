/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.delivery;

import java.lang.reflect.Method;
import java.time.Duration;

import org.springframework.util.ClassUtils;

import dev.idempotency.Mode;
import dev.idempotency.listener.key.OperationResolver;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.Observers;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.template.TransactionBoundary;

/**
 * The settings of a listener method, resolved once from its annotation, its signature,
 * its container and the properties.
 *
 * @param name the name of the listener for messages and meters
 * @param mode the mode, not {@link Mode#AUTO}
 * @param boundary the transaction in which the method runs
 * @param lease the lease of a claim
 * @param retention the retention of a completed key
 * @param operations resolves a record to its operation
 * @param codec encodes the result of the method
 * @param template executes the operations
 * @param storeTimeout the timeout of a call of the store
 * @param declinedFailures the exceptions that decline an operation
 * @param observers are notified of blocked records
 */
public record ListenerSettings(String name, Mode mode, TransactionBoundary boundary, Duration lease, Duration retention,
		OperationResolver operations, ResultCodec<Object> codec, IdempotencyTemplate template, Duration storeTimeout,
		DeclinedFailures declinedFailures, Observers observers) {

	/**
	 * The codec of a method without a result.
	 */
	public static final ResultCodec<Object> NO_RESULT = ResultCodec.none();

	public static String where(Method method, Class<?> targetClass) {
		return ClassUtils.getShortName(targetClass) + "." + method.getName();
	}

}
