/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

import dev.idempotency.Internal;

/**
 * The claim that a consumer makes ahead: when an operation has completed, its completion
 * and the claim of the next operation are one call of the store. A new record then costs
 * one round trip instead of two. The completion is recorded before the operation returns,
 * as without a claim ahead.
 * <p>
 * A claim ahead is used only by a delivery of exactly this operation, while at least half
 * of its lease is left. Otherwise it is released, at the latest after about a second. If
 * many claims are not used, fewer are made.
 * <p>
 * An instance belongs to one thread, which calls {@link #begin()} before and
 * {@link #end()} after the delivery of each record.
 *
 * @since 0.1.0
 */
@Internal
public final class ClaimAhead {

	private static final int MAX_PAUSE = 1023;

	private static final int HALF = 2;

	private static final int QUARTER = 4;

	private final ClaimsAhead claims;

	private final Supplier<@Nullable IdempotentOperation> next;

	// The claim that the previous delivery has made.
	private @Nullable Claimed due;

	// The claim that this delivery has made.
	private @Nullable Claimed made;

	// The number of deliveries that make no claim
	// after one that was not used.
	private int pause;

	private int paused;

	ClaimAhead(ClaimsAhead claims, Supplier<@Nullable IdempotentOperation> next) {
		this.claims = claims;
		this.next = next;
	}

	/**
	 * Begin the delivery of a record. The claim that the previous delivery has made is
	 * for this record.
	 */
	public void begin() {
		end();
		this.due = this.made;
		this.made = null;
	}

	/**
	 * End the delivery of a record. The claim for this record is released if it was not
	 * used.
	 */
	public void end() {
		if (this.claims.release(this.due)) {
			this.pause = Math.min(2 * this.pause + 1, MAX_PAUSE);
			this.paused = this.pause;
		}
		this.due = null;
	}

	/**
	 * Release the claim for the next record, because it may not be delivered.
	 */
	public void release() {
		end();
		this.claims.release(this.made);
		this.made = null;
	}

	// Take the claim of an operation that is delivered now. A claim of another
	// operation is released.
	@Nullable Claimed take(IdempotentOperation operation) {
		Claimed claimed = this.due;
		if (claimed == null || !claimed.isFor(operation) || !claimed.isYoungerThan(HALF)
				|| !this.claims.take(claimed)) {
			end();
			return null;
		}
		this.due = null;
		this.pause = 0;
		return claimed;
	}

	boolean complete(OwnedClaim claim) {
		if (this.paused > 0) {
			this.paused--;
			return false;
		}
		// After a long handler the next one may be long too, and saves little.
		if (!claim.isYoungerThan(QUARTER)) {
			return false;
		}
		IdempotentOperation operation = this.claims.claimable(this.next, claim.operation());
		if (operation == null) {
			return false;
		}
		this.made = this.claims.complete(claim, operation);
		return true;
	}

}
