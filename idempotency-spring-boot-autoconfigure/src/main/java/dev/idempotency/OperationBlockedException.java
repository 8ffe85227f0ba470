/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when an operation can neither be run nor be skipped at the moment. The record is
 * blocked: it is redelivered without using up the retries of the error handler. This is
 * never a failure of the handler.
 *
 * @since 0.1.0
 */
public abstract sealed class OperationBlockedException extends RuntimeException
		permits OperationInProgressException, IdempotencyStoreUnavailableException, IdempotencyStoreRefusedException,
		IdempotencyRecordUnreadableException, OperationNotAcknowledgedException, OperationLostException {

	private final Duration retryAfter;

	OperationBlockedException(String message, Duration retryAfter, @Nullable Throwable cause) {
		super(message, cause);
		this.retryAfter = retryAfter;
	}

	/**
	 * Find an exception of this type among an error and its causes.
	 * @param error the error
	 * @return the exception, {@code null} if there is none
	 */
	public static @Nullable OperationBlockedException in(@Nullable Throwable error) {
		return ExceptionCauses.find(OperationBlockedException.class, error);
	}

	/**
	 * Return the time after which the record should be redelivered at the latest.
	 * @return the time to wait
	 */
	public Duration retryAfter() {
		return this.retryAfter;
	}

}
