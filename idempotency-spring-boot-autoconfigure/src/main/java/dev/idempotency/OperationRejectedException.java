/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when a record can never be processed as it is. The error handler passes it to
 * its recoverer without retries.
 *
 * @since 0.1.0
 */
public abstract sealed class OperationRejectedException extends RuntimeException
		permits IdempotencyFingerprintUnusableException, IdempotencyKeyMissingException, IdempotencyKeyReusedException,
		IdempotencyVersionUnusableException, IdempotencyVersionStaleException, IdempotencyResultUnreadableException {

	OperationRejectedException(String message, @Nullable Throwable cause) {
		super(message, cause);
	}

	/**
	 * Replace an error whose message may quote the payload.
	 */
	static Throwable unquoted(Throwable error) {
		IllegalStateException replacement = new IllegalStateException(
				(error instanceof IdempotencyConfigurationException) ? error.getMessage() : error.getClass().getName());
		replacement.setStackTrace(error.getStackTrace());
		return replacement;
	}

}
