/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

/**
 * Thrown when the fingerprint of a record or of an operation's content cannot be
 * computed. It is rejected, because its content cannot be compared with the content that
 * its key stands for.
 *
 * @since 0.1.0
 */
public final class IdempotencyFingerprintUnusableException extends OperationRejectedException {

	/**
	 * Create an exception.
	 * @param message the problem, the record and the remedy
	 * @param reason the error of the computation; the cause of this exception keeps its
	 * type and stack trace but not its message, which may quote the payload
	 */
	public IdempotencyFingerprintUnusableException(String message, Throwable reason) {
		super(message, unquoted(reason));
	}

}
