/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

/**
 * A row of the outbox cannot be decoded into a message. A retry does not help.
 *
 * @since 0.1.0
 */
public final class UndecodableMessageException extends RuntimeException {

	/**
	 * Create an exception.
	 * @param message the column and its problem, without the value
	 */
	public UndecodableMessageException(String message) {
		super(message);
	}

}
