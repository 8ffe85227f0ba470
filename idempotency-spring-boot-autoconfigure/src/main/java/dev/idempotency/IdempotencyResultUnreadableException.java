/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

/**
 * Thrown when an operation has completed but its stored result cannot be converted to the
 * return type of the handler.
 *
 * @since 0.1.0
 */
public final class IdempotencyResultUnreadableException extends OperationRejectedException {

	/**
	 * Create an exception.
	 * @param message the problem, the record and the remedy
	 * @param reason the error of the conversion; the cause of this exception keeps its
	 * type and stack trace but not its message, which may quote the result
	 */
	public IdempotencyResultUnreadableException(String message, Throwable reason) {
		super(message, unquoted(reason));
	}

}
