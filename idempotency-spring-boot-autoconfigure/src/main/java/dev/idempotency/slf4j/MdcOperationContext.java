/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.slf4j;

import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;

import dev.idempotency.ReadableText;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.OperationContext;

/**
 * Puts {@code idempotency.key} and {@code idempotency.scope} into the MDC while a thread
 * handles an operation, and restores the earlier values afterwards. For an asynchronous
 * operation, they are present until its method returns. For a batch, only the scope is
 * present.
 *
 * @since 0.1.0
 */
public final class MdcOperationContext implements OperationContext {

	private static final String KEY = "idempotency.key";

	private static final String SCOPE = "idempotency.scope";

	@Override
	public OpenContext begin(IdempotentOperation operation) {
		String key = MDC.get(KEY);
		String scope = MDC.get(SCOPE);
		MDC.put(KEY, ReadableText.of(operation.key().value()));
		MDC.put(SCOPE, operation.key().scope());
		return () -> {
			restore(KEY, key);
			restore(SCOPE, scope);
		};
	}

	@Override
	public OpenContext beginBatch(String batchScope) {
		String scope = MDC.get(SCOPE);
		MDC.put(SCOPE, batchScope);
		return () -> restore(SCOPE, scope);
	}

	private static void restore(String name, @Nullable String value) {
		if (value != null) {
			MDC.put(name, value);
		}
		else {
			MDC.remove(name);
		}
	}

}
