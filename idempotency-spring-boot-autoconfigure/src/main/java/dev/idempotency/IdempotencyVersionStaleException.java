/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

/**
 * Thrown when a higher version of the key has completed and the listener rejects stale
 * records.
 *
 * @since 0.1.0
 */
public final class IdempotencyVersionStaleException extends OperationRejectedException {

	public IdempotencyVersionStaleException(String message) {
		super(message, null);
	}

}
