/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * The answer of a store to the request for a key.
 *
 * @since 0.1.0
 */
public sealed interface Claim {

	/**
	 * The caller owns the key and may run the handler.
	 *
	 * @param fence the fencing token, larger than that of every earlier claim of the key
	 * that the store remembers
	 * @param attempt the number of starts of the operation, including this one
	 */
	record Acquired(int fence, int attempt) implements Claim {

	}

	/**
	 * The operation has completed within its retention: for a request with a version, the
	 * version that completed last is the requested one.
	 *
	 * @param result the stored result, {@code null} if there is none
	 * @param otherContent whether the operation has completed with other content than
	 * that of the request, which is to be reported. No store answers so: the template
	 * asks again without a fingerprint
	 */
	record Completed(byte @Nullable [] result, boolean otherContent) implements Claim {

		/**
		 * Create the answer of a store.
		 * @param result the stored result, {@code null} if there is none
		 */
		public Completed(byte @Nullable [] result) {
			this(result, false);
		}

	}

	/**
	 * A higher version of the key has completed.
	 *
	 * @param completed the version that completed last, the highest of the key
	 */
	record Stale(long completed) implements Claim {

	}

	/**
	 * Another owner runs the operation.
	 *
	 * @param retryAfter the remaining lease of that claim, if its owner does not renew it
	 */
	record InProgress(Duration retryAfter) implements Claim {

	}

	/**
	 * The key stands for content with another fingerprint.
	 */
	record Mismatch() implements Claim {

	}

}
