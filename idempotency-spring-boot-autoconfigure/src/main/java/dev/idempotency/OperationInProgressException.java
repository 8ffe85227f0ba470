/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

import java.time.Duration;
import java.util.concurrent.CompletionStage;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when another consumer runs the operation.
 *
 * @since 0.1.0
 */
public final class OperationInProgressException extends OperationBlockedException {

	private final transient @Nullable CompletionStage<?> ended;

	/**
	 * Create an exception.
	 * @param message the message
	 * @param retryAfter the time after which the record should be redelivered at the
	 * latest
	 */
	public OperationInProgressException(String message, Duration retryAfter) {
		this(message, retryAfter, null);
	}

	/**
	 * Create an exception.
	 * @param message the message
	 * @param retryAfter the time after which the record should be redelivered at the
	 * latest
	 * @param ended completes when this process has ended its execution of the operation,
	 * {@code null} if that is not known
	 */
	@Internal
	public OperationInProgressException(String message, Duration retryAfter, @Nullable CompletionStage<?> ended) {
		super(message, retryAfter, null);
		this.ended = ended;
	}

	/**
	 * Return a stage that completes when this process has ended its execution of the
	 * operation, or after some seconds, because another process may run it. Its
	 * dependents must not block: the thread settles and renews the claims of other
	 * operations.
	 * @return the stage, {@code null} if the blocked operation was called by its own
	 * execution
	 */
	@Internal
	public @Nullable CompletionStage<?> ended() {
		return this.ended;
	}

}
