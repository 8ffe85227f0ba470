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
 * Thrown when the claim of a handler expired while it ran and another owner has taken
 * over the key. The outcome of this execution is not recorded.
 *
 * @since 0.1.0
 */
public final class OperationLostException extends OperationBlockedException {

	private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

	public OperationLostException(String message, @Nullable Throwable cause) {
		super(message, RETRY_AFTER, cause);
	}

}
