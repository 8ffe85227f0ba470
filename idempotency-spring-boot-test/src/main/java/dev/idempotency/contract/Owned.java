/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.time.Duration;

import dev.idempotency.store.ClaimRequest;

/**
 * An owner that has acquired a key. Only one thread uses it at a time.
 */
final class Owned {

	private final ClaimRequest request;

	private final int fence;

	private final long asked;

	private final long answered;

	private volatile long leaseEnd;

	private volatile long gaveUp = Long.MAX_VALUE;

	Owned(ClaimRequest request, int fence, long asked, long answered) {
		this.request = request;
		this.fence = fence;
		this.asked = asked;
		this.answered = answered;
		this.leaseEnd = asked + request.lease().toNanos();
	}

	ClaimRequest request() {
		return this.request;
	}

	int fence() {
		return this.fence;
	}

	long asked() {
		return this.asked;
	}

	long answered() {
		return this.answered;
	}

	void asks(Mutation mutation, long now) {
		if (mutation != Mutation.RENEW) {
			this.gaveUp = Math.min(this.gaveUp, now);
		}
	}

	void renewed(long asked) {
		this.leaseEnd = asked + this.request.lease().toNanos();
	}

	// The lease begins after the start of the call. The claim may end at the start of the
	// call that settles it.
	long certainlyAliveUntil(Duration precision) {
		return Math.min(this.leaseEnd - precision.toNanos(), this.gaveUp);
	}

	long gaveUp() {
		return this.gaveUp;
	}

	long leaseEnd() {
		return this.leaseEnd;
	}

	@Override
	public String toString() {
		return "owner with fence " + this.fence + " of " + this.request.key();
	}

}
