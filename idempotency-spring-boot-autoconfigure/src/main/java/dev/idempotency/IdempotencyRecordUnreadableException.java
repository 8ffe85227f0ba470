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
 * Thrown when the value that the store holds under the key is not a record of this
 * library. It is unknown whether the operation has completed, so the record is blocked
 * until an administrator removes the value. The circuit breaker does not count it as an
 * outage, and other keys are not affected.
 *
 * @since 0.1.0
 */
public final class IdempotencyRecordUnreadableException extends OperationBlockedException {

	private static final Duration RETRY_AFTER = Duration.ofSeconds(5);

	public IdempotencyRecordUnreadableException(String message, @Nullable Throwable cause) {
		super(message, RETRY_AFTER, cause);
	}

}
