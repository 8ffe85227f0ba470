/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.Arrays;

import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;

/**
 * The answer of the store to the claim of an operation.
 *
 * @param operation the operation
 * @param request the request
 * @param claim the answer
 * @param since the time of the request by {@link System#nanoTime()}
 */
record Claimed(IdempotentOperation operation, ClaimRequest request, Claim claim, long since) {

	// Whether this is the claim of an operation that is delivered now. The content
	// of its record may have changed since the claim.
	boolean isFor(IdempotentOperation delivered) {
		return this.operation.origin().equals(delivered.origin()) && this.operation.isSameAs(delivered)
				&& Arrays.equals(this.operation.fingerprint(), delivered.fingerprint())
				&& this.operation.lease().equals(delivered.lease())
				&& this.operation.retention().equals(delivered.retention());
	}

	boolean isYoungerThan(int divisor) {
		return System.nanoTime() - this.since < this.request.lease().toNanos() / divisor;
	}

}
