/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Internal;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.template.StoreObserver.StoreCall;

/**
 * A completion that waits for the outcome of the caller's transaction, or for an
 * acknowledgment. Its lease is renewed until then. The receiver calls exactly one of
 * {@link #complete()}, {@link #abandon()} and the two releases, once; only a release may
 * follow an abandonment, when the outcome of the transaction becomes known. It reports
 * its outcome to an observer, once.
 *
 * @since 0.1.0
 */
@Internal
public final class PendingCompletion {

	private static final Log logger = LogFactory.getLog(PendingCompletion.class);

	private final Settlements settlements;

	private final List<OwnedClaim> claims;

	// This completion, or those that it joins. Each reports its own outcome.
	private final List<PendingCompletion> parts;

	private @Nullable Consumer<Outcome> observer;

	PendingCompletion(Settlements settlements, List<OwnedClaim> claims, Consumer<Outcome> observer) {
		this.settlements = settlements;
		this.claims = claims;
		this.parts = List.of(this);
		this.observer = observer;
	}

	private PendingCompletion(List<PendingCompletion> parts) {
		this.settlements = parts.get(0).settlements;
		this.claims = parts.stream().flatMap((completion) -> completion.claims.stream()).toList();
		this.parts = parts;
	}

	/**
	 * Join completions of one template, so that the store records or releases all of them
	 * with one call.
	 * @param completions the completions, at least one
	 * @return the joined completion
	 */
	public static PendingCompletion all(List<PendingCompletion> completions) {
		return (completions.size() == 1) ? completions.get(0) : new PendingCompletion(completions);
	}

	List<OwnedClaim> claims() {
		return this.claims;
	}

	/**
	 * Return the key of the operation, or of the first one.
	 * @return the key
	 */
	public IdempotencyKey key() {
		return this.claims.get(0).operation().key();
	}

	/**
	 * Look up the completion that duplicates of an operation replay when the operation is
	 * completed.
	 * @param operation the operation
	 * @return its completion, {@code null} if this one does not contain the key with this
	 * fingerprint and version. Other content that is only reported counts as the same
	 */
	public Claim.@Nullable Completed find(IdempotentOperation operation) {
		for (OwnedClaim claim : this.claims) {
			boolean equal = Arrays.equals(claim.request().fingerprint(), operation.fingerprint());
			if (!claim.ownershipLost() && claim.operation().isSameAs(operation)
					&& (equal || Fingerprint.isReported(operation.fingerprint()))) {
				return new Claim.Completed(claim.result(),
						Fingerprint.differs(operation.key(), claim.request().fingerprint(), operation.fingerprint()));
			}
		}
		return null;
	}

	/**
	 * Record the operations as completed, because the transaction has committed. If the
	 * store is unavailable, the lease is kept and the completion is retried until the
	 * store records it or this process ends. An operation that another owner has taken
	 * over is logged.
	 * @return {@link Settlement#LOST} if another owner has taken one of them over
	 */
	public Settlement complete() {
		try {
			this.settlements.settle(StoreCall.COMPLETE, this, this.claims);
			this.claims.stream().filter(OwnedClaim::isLost).forEach((claim) -> Settlements.logged(claim.lost(null)));
		}
		catch (OperationBlockedException ex) {
			logger.debug("The completion is pending and is retried", ex);
		}
		finally {
			this.parts
				.forEach((part) -> part.report((part.outcome() == Settlement.LOST) ? Outcome.LOST : Outcome.PROCESSED));
		}
		return (outcome() == Settlement.LOST) ? Settlement.LOST : Settlement.SETTLED;
	}

	/**
	 * Release the keys, because the transaction has been rolled back. The operations can
	 * be run again at once.
	 */
	public void release() {
		release(Outcome.FAILED);
	}

	/**
	 * Release the keys, because the records are redelivered without an acknowledgment.
	 */
	public void releaseUnacknowledged() {
		release(Outcome.BLOCKED);
	}

	private void release(Outcome outcome) {
		try {
			this.settlements.settle(StoreCall.RELEASE, this, this.claims);
		}
		finally {
			this.parts.forEach((part) -> part.report(outcome));
		}
	}

	/**
	 * Stop renewing the leases, because the outcome of the transaction is unknown. The
	 * keys are free when their leases have expired.
	 */
	public void abandon() {
		this.claims.forEach(this.settlements::leave);
		this.parts.forEach((part) -> part.report(Outcome.FAILED));
	}

	private void report(Outcome outcome) {
		Consumer<Outcome> current = this.observer;
		this.observer = null;
		if (current != null) {
			current.accept(outcome);
		}
	}

	/**
	 * Return the outcome of the completion.
	 * @return {@link Settlement#SETTLED} if it is recorded, {@link Settlement#LOST} if
	 * another owner has taken one of the operations over, {@code null} while neither is
	 * known: before {@link #complete()}, and while the store is unavailable
	 */
	public @Nullable Settlement outcome() {
		if (!this.claims.stream().allMatch(OwnedClaim::isEnded)) {
			return null;
		}
		return this.claims.stream().anyMatch(OwnedClaim::isLost) ? Settlement.LOST : Settlement.SETTLED;
	}

	@Override
	public String toString() {
		return (this.claims.size() == 1) ? this.claims.get(0).operation().toString() : this.claims.size()
				+ " operations of a batch, the first of which is " + this.claims.get(0).operation();
	}

}
