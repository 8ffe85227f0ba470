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
 * Thrown when the store answered and refused the call for a reason that concerns this
 * operation or the privileges of the application: a missing privilege or table, an
 * unsupported isolation level, a value that it cannot hold, a programming error. The call
 * has changed nothing. The record is redelivered until the reason has been removed. The
 * circuit breaker does not count it as an outage, other operations are not affected, and
 * {@code idempotency.store.on-unavailable=process} does not apply.
 *
 * @since 0.1.0
 */
public final class IdempotencyStoreRefusedException extends OperationBlockedException {

	private static final Duration RETRY_AFTER = Duration.ofSeconds(5);

	private final @Nullable String code;

	public IdempotencyStoreRefusedException(String message, @Nullable Throwable cause) {
		this(message, null, cause);
	}

	/**
	 * Create the exception for a refusal that has a code.
	 * @param message the problem and the remedy; it must not quote values
	 * @param code the code of the store, such as an SQL state, {@code null} if there is
	 * none
	 * @param cause the error that the store reported, {@code null} if there is none
	 */
	public IdempotencyStoreRefusedException(String message, @Nullable String code, @Nullable Throwable cause) {
		super(message, RETRY_AFTER, cause);
		this.code = code;
	}

	/**
	 * Return the code with which the store names its reason.
	 * @return the code, such as an SQL state, {@code null} if there is none
	 */
	public @Nullable String code() {
		return this.code;
	}

}
