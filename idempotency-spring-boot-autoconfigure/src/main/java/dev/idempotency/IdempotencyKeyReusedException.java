/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

/**
 * Thrown when the idempotency key of a record already stands for other content.
 *
 * @since 0.1.0
 */
public final class IdempotencyKeyReusedException extends OperationRejectedException {

	public IdempotencyKeyReusedException(String message) {
		super(message, null);
	}

}
