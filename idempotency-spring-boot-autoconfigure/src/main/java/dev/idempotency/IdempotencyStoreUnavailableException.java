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
 * Thrown when the store is unavailable for every caller: it cannot be reached, it does
 * not answer in time, it lacks resources, or it accepts no connection. A refusal for
 * another reason is an {@link IdempotencyStoreRefusedException}. An outbox throws this
 * exception too, when its database or schema registry does not answer.
 *
 * @since 0.1.0
 */
public final class IdempotencyStoreUnavailableException extends OperationBlockedException {

	private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

	private final @Nullable String code;

	public IdempotencyStoreUnavailableException(String message, @Nullable Throwable cause) {
		this(message, null, cause);
	}

	/**
	 * Create the exception for an outage that has a code.
	 * @param message the problem; it must not quote values
	 * @param code the code of the store, such as an SQL state, {@code null} if there is
	 * none
	 * @param cause the error that the store or its client reported, {@code null} if there
	 * is none
	 */
	public IdempotencyStoreUnavailableException(String message, @Nullable String code, @Nullable Throwable cause) {
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
