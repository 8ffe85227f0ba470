/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.Locale;
import java.util.Objects;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;

import dev.idempotency.OperationLostException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.StoreObserver.StoreCall;

/**
 * A claim of leased mode, which is the execution of its handler, and its state: running,
 * then settling, then settled, lost or, while the store is unavailable, pending. Only
 * {@link Settlements} and {@link Leases} change the state.
 */
final class OwnedClaim extends ClaimedExecution {

	private final IdempotentOperation operation;

	private final ClaimRequest request;

	// The retries of its settlement, if it is pending. Most claims never are.
	private volatile @Nullable Retries retries;

	private final long claimedAt;

	private volatile long renewedAt;

	private volatile boolean renewedAlone;

	// The following two are set by the thread that settles, before the kind of the
	// settlement.
	private byte @Nullable [] result;

	private @Nullable Failure failure;

	private volatile @Nullable StoreCall ending;

	private volatile @Nullable Settlement outcome;

	// Its record was restored while it was being settled, and maybe after that.
	private volatile boolean restored;

	private volatile @Nullable Consumer<Settlement> lateObserver;

	OwnedClaim(IdempotentOperation operation, ClaimRequest request, Claim.Acquired acquired, long claimedAt) {
		super(operation.key(), acquired);
		this.operation = operation;
		this.request = request;
		this.claimedAt = claimedAt;
		this.renewedAt = claimedAt;
	}

	IdempotentOperation operation() {
		return this.operation;
	}

	Retries retries() {
		return Objects.requireNonNull(this.retries);
	}

	ClaimRequest request() {
		return this.request;
	}

	boolean isRunning() {
		return this.ending == null && this.outcome == null;
	}

	boolean isPending() {
		return this.retries != null && this.outcome == null;
	}

	boolean isEnded() {
		return this.outcome != null;
	}

	boolean isLost() {
		return this.outcome == Settlement.LOST;
	}

	void markRenewed(long now) {
		this.renewedAt = now;
	}

	boolean isRenewedAlone() {
		return this.renewedAlone;
	}

	void setRenewedAlone(boolean alone) {
		this.renewedAlone = alone;
	}

	// Whether a fraction of the lease has passed since its last renewal.
	boolean hasPassed(long now, int divisor) {
		return now - this.renewedAt >= this.request.lease().toNanos() / divisor;
	}

	// Whether less than a fraction of the lease has passed since the claim.
	boolean isYoungerThan(int divisor) {
		return System.nanoTime() - this.claimedAt < this.request.lease().toNanos() / divisor;
	}

	byte @Nullable [] result() {
		return this.result;
	}

	Ending.Completed completion() {
		return new Ending.Completed(this.request, this.result);
	}

	Ending toEnding(StoreCall call) {
		return switch (call) {
			case COMPLETE -> completion();
			case FAIL -> new Ending.Failed(this.request, failure());
			default -> new Ending.Released(this.request);
		};
	}

	void setResult(byte @Nullable [] result) {
		this.result = result;
	}

	Failure failure() {
		return Objects.requireNonNull(this.failure);
	}

	void setFailure(Failure failure) {
		this.failure = failure;
	}

	void beginSettling(StoreCall how) {
		this.ending = how;
		this.outcome = null;
	}

	StoreCall ending() {
		return Objects.requireNonNull(this.ending, "The claim is not being settled");
	}

	boolean isCompletion() {
		return this.ending == StoreCall.COMPLETE;
	}

	boolean isRestored() {
		return this.restored;
	}

	void setRestored(boolean restored) {
		this.restored = restored;
	}

	// Without a record in the store another consumer could claim the key.
	boolean isWorthRestoring() {
		return isRunning() || (isCompletion() && !isEnded());
	}

	// Keep the settlement for a retry, because the store is unavailable.
	void beginPending() {
		Retries earlier = this.retries;
		if (earlier == null) {
			this.retries = new Retries();
		}
		else {
			earlier.begin();
		}
	}

	void end(Settlement settlement) {
		this.outcome = settlement;
		if (settlement == Settlement.LOST && !isRelease()) {
			loseOwnership();
		}
	}

	boolean isRelease() {
		return this.ending == StoreCall.RELEASE;
	}

	// Set the observer of a settlement that becomes pending and ends later.
	void setLateObserver(Consumer<Settlement> observer) {
		this.lateObserver = observer;
	}

	void notifyLateObserver(Settlement settlement) {
		Consumer<Settlement> observer = this.lateObserver;
		if (observer != null) {
			observer.accept(settlement);
		}
	}

	// An expired claim need not be released.
	boolean isExpiredRelease() {
		return isRelease() && retries().age().compareTo(this.operation.lease()) > 0;
	}

	OperationLostException lost(@Nullable Throwable cause) {
		return new OperationLostException(
				loss() + ". This execution is not recorded. If the process or the store paused "
						+ "for longer than the lease, increase the lease",
				cause);
	}

	String loss() {
		return "Another owner has the key now, because the lease of " + this.operation.lease()
				+ " expired or its record was removed from the store: " + this.operation;
	}

	@Override
	public String toString() {
		StoreCall how = this.ending;
		return ((how != null) ? how.name().toLowerCase(Locale.ROOT) + " of " : "") + this.operation;
	}

}
