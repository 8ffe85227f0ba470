/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import org.jspecify.annotations.Nullable;

/**
 * The result of an operation.
 *
 * @param result the value that the handler returned in this or in the first execution
 * @param duplicate whether the operation had completed before, so that the handler did
 * not run
 * @param declineReason the reason for which the handler declined the operation, and then
 * the result is the body of the declined operation; {@code null} unless it is the result
 * of an item of a batch
 * @param stale whether a higher version of the key had completed, so that the handler did
 * not run and there is no result
 * @param <T> the type of the result
 * @since 0.1.0
 */
public record IdempotentResult<T>(@Nullable T result, boolean duplicate, @Nullable String declineReason,
		boolean stale) {

	/**
	 * Create the result of an operation for which no higher version had completed.
	 * @param result the value that the handler returned in this or in the first
	 * execution, or the body of the declined operation
	 * @param duplicate whether the operation had completed before
	 * @param declineReason the reason, {@code null} if there is none
	 */
	public IdempotentResult(@Nullable T result, boolean duplicate, @Nullable String declineReason) {
		this(result, duplicate, declineReason, false);
	}

	/**
	 * Create the result of an operation that was not declined.
	 * @param result the value that the handler returned in this or in the first execution
	 * @param duplicate whether the operation had completed before
	 */
	public IdempotentResult(@Nullable T result, boolean duplicate) {
		this(result, duplicate, null);
	}

	static <T> IdempotentResult<T> ofStale() {
		return new IdempotentResult<>(null, false, null, true);
	}

}
