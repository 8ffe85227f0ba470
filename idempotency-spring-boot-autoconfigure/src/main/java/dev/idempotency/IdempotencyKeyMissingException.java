/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when an operation of the template has no usable idempotency key, or when a
 * record has none and {@link MissingKeyPolicy#REJECT} applies.
 *
 * @since 0.1.0
 */
public final class IdempotencyKeyMissingException extends OperationRejectedException {

	public IdempotencyKeyMissingException(String message, @Nullable Throwable cause) {
		super(message, cause);
	}

}
