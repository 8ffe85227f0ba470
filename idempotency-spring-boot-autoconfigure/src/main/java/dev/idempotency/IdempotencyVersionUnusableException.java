/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when a record has no usable version. The record is rejected, because it is
 * unknown whether a higher version of its key has completed.
 *
 * @since 0.1.0
 */
public final class IdempotencyVersionUnusableException extends OperationRejectedException {

	/**
	 * Create an exception.
	 * @param message the problem, the record and the remedy
	 * @param reason the error of the expression, {@code null} if there is none; the cause
	 * of this exception keeps its type and stack trace but not its message, which may
	 * quote the payload
	 */
	public IdempotencyVersionUnusableException(String message, @Nullable RuntimeException reason) {
		super(message, (reason != null) ? unquoted(reason) : null);
	}

}
