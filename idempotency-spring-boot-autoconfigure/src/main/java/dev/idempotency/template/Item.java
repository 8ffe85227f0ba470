/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;

import org.jspecify.annotations.Nullable;

import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.Fingerprint;

/**
 * An item of a {@link BatchPlan}: its claim, and the decision about it.
 */
final class Item {

	private static final IdempotentResult<Object> WITHOUT_VALUE = new IdempotentResult<>(null, false);

	private final int index;

	private final @Nullable IdempotentOperation operation;

	private final Object lane;

	// The item that represents this one, if it is another one.
	private @Nullable Item original;

	// That of the current claim, once the key is asked for.
	private @Nullable ClaimRequest request;

	private @Nullable Claim claim;

	// In leased mode, the claim while its lease is kept.
	private @Nullable OwnedClaim owned;

	// The claim was blocked, so the owner of the key is unknown.
	private @Nullable OperationBlockedException claimFailure;

	private Decision decision = Decision.DUE;

	private @Nullable OperationBlockedException reason;

	// What the handler has returned for it.
	private @Nullable Object value;

	// The bytes of the value that are stored.
	private byte @Nullable [] written;

	private @Nullable IdempotentResult<Object> result;

	// The item that represents it has other content, which is reported.
	private boolean differs;

	// Its outcome is reported when its completion has ended.
	private boolean reportDeferred;

	Item(int index, @Nullable IdempotentOperation operation, Object lane, @Nullable Item original) {
		this.index = index;
		this.operation = operation;
		this.lane = lane;
		this.original = original;
	}

	int index() {
		return this.index;
	}

	Object lane() {
		return this.lane;
	}

	boolean isProtected() {
		return this.operation != null;
	}

	IdempotentOperation operation() {
		return Objects.requireNonNull(this.operation);
	}

	boolean hasPosition() {
		return operation().position() != null;
	}

	// Whether the mark of its partition is its claim.
	boolean isPositioned() {
		return isClaimed() && hasPosition();
	}

	boolean isVersioned() {
		return this.operation != null && this.operation.version() != null;
	}

	long version() {
		return Objects.requireNonNull(operation().version()).number();
	}

	void representedBy(Item highest) {
		this.original = (highest != this) ? highest : null;
		if (this.original == null && isRepresented()) {
			this.decision = Decision.DUE;
		}
	}

	@Nullable OperationBlockedException claimFailure() {
		return this.claimFailure;
	}

	boolean isUnanswered() {
		return isProtected() && this.original == null && this.decision == Decision.DUE && this.claim == null
				&& this.claimFailure == null;
	}

	ClaimRequest request() {
		return Objects.requireNonNull(this.request);
	}

	ClaimRequest newRequest() {
		this.request = operation().newRequest();
		return this.request;
	}

	// The store has completed or runs its key with other content, which is only reported.
	boolean isToBeReported(Claim answer) {
		return answer instanceof Claim.Mismatch && Fingerprint.isReported(request().fingerprint());
	}

	void compareNothing() {
		this.request = request().withoutFingerprint();
	}

	boolean hasOtherContent() {
		return this.differs || (this.claim instanceof Claim.Completed completed && completed.otherContent());
	}

	@Nullable OwnedClaim owned() {
		return this.owned;
	}

	void setOwned(@Nullable OwnedClaim claim) {
		this.owned = claim;
	}

	@Nullable Claim claim() {
		return this.claim;
	}

	void setClaim(@Nullable Claim answer) {
		this.claim = answer;
	}

	void unclaim() {
		if (isClaimed()) {
			this.claim = null;
		}
	}

	@Nullable Object value() {
		return this.value;
	}

	void setValue(@Nullable Object value) {
		this.value = value;
	}

	Ending.Completed completion() {
		return new Ending.Completed(request(), this.written);
	}

	byte @Nullable [] written() {
		return this.written;
	}

	void setWritten(byte @Nullable [] written) {
		this.written = written;
	}

	@Nullable IdempotentResult<Object> result() {
		return this.result;
	}

	void setResult(@Nullable IdempotentResult<Object> result) {
		this.result = result;
	}

	void done() {
		this.result = (this.value != null) ? new IdempotentResult<>(this.value, false) : WITHOUT_VALUE;
	}

	// Its execution is not recorded.
	void undone(OperationBlockedException why) {
		this.result = null;
		this.claimFailure = why;
		block(why);
	}

	boolean isReportDeferred() {
		return this.reportDeferred;
	}

	void deferReport() {
		this.reportDeferred = true;
	}

	// The first delivery answers with the decline itself, whatever is stored.
	void setDeclined(Object decline) {
		this.claim = new Claim.Completed(this.written);
		this.result = new IdempotentResult<>(decline, false);
	}

	// A decline that is not recorded, because an item before it is not done.
	void withdraw() {
		this.result = null;
		leaveOut(null);
	}

	// Another owner has the key, or its claim failed.
	boolean isClaimBlocked() {
		return this.claimFailure != null || this.claim instanceof Claim.InProgress;
	}

	boolean isClaimed() {
		return this.claim instanceof Claim.Acquired;
	}

	void setClaimFailure(OperationBlockedException failure) {
		this.claimFailure = failure;
	}

	@Nullable Claim decide(boolean awaitsClaims) {
		this.reason = null;
		if (this.claimFailure != null) {
			throw this.claimFailure;
		}
		if (this.original != null && isVersioned() && version() != this.original.version()) {
			decideAsSuperseded(this.original);
			return null;
		}
		if (this.original != null) {
			return decideAsCopy(this.original, awaitsClaims && this.original.isUnanswered());
		}
		this.decision = (this.claim != null && !isClaimed()) ? Decision.REPLAYED : Decision.DUE;
		return isDue() ? null : this.claim;
	}

	// Before the higher version, the sender is not to blame for it.
	private void decideAsSuperseded(Item highest) {
		if (highest.index() < index()) {
			checkRuns(highest);
			StoredResults.stale(operation(), highest.version());
		}
		this.decision = Decision.SUPERSEDED;
	}

	private void checkRuns(Item first) {
		if (first.decision == Decision.LEFT_OUT || first.decision == Decision.BLOCKED) {
			OperationBlockedException earlier = first.reason;
			throw new OperationInProgressException(
					"An earlier record of " + operation() + " in the same batch is blocked",
					(earlier != null) ? earlier.retryAfter() : Duration.ZERO,
					(earlier instanceof OperationInProgressException inProgress) ? inProgress.ended() : null);
		}
	}

	private @Nullable Claim decideAsCopy(Item first, boolean later) {
		IdempotentOperation own = operation();
		checkRuns(first);
		if (!later && Fingerprint.differs(own.key(), first.operation().fingerprint(), own.fingerprint())) {
			if (!Fingerprint.isReported(own.fingerprint())) {
				return new Claim.Mismatch();
			}
			this.differs = true;
		}
		if (first.hasOtherContent()) {
			// A content that differs from it may be the one that has completed.
			this.differs = Arrays.equals(own.fingerprint(), first.operation().fingerprint());
		}
		this.decision = (first.decision == Decision.REPLAYED) ? Decision.REPLAYED : Decision.COPY;
		return (this.decision == Decision.COPY) ? null : first.claim;
	}

	boolean isDue() {
		return this.decision == Decision.DUE;
	}

	// Another item represents this one.
	boolean isRepresented() {
		return this.decision == Decision.COPY || this.decision == Decision.SUPERSEDED;
	}

	void leaveOut(@Nullable OperationBlockedException before) {
		this.decision = Decision.LEFT_OUT;
		this.reason = before;
	}

	void block(OperationBlockedException why) {
		this.decision = Decision.BLOCKED;
		this.reason = why;
	}

	boolean isOriginalBlocked() {
		return this.original != null && this.original.isBlocked();
	}

	boolean isSupersededByBlocked() {
		return this.decision == Decision.SUPERSEDED && this.original != null && this.original.index > this.index
				&& this.original.reason != null;
	}

	// A repeated decision does not change it.
	void blockWithOriginal() {
		this.claimFailure = Objects.requireNonNull(this.original).reason();
		block(this.claimFailure);
	}

	// Take over the result of the item that represents this one.
	void endAsOriginal() {
		if (this.original == null || !isRepresented()) {
			return;
		}
		IdempotentResult<Object> known = this.original.result;
		if (this.decision == Decision.SUPERSEDED && (known != null || this.original.claim instanceof Claim.Completed)) {
			known = IdempotentResult.ofStale();
		}
		else if (known != null) {
			known = new IdempotentResult<>(known.result(), true);
		}
		this.result = known;
	}

	boolean isBlocked() {
		return this.decision == Decision.BLOCKED;
	}

	// The reason why this item, or the one that represents it, is blocked.
	@Nullable OperationBlockedException blockedBy() {
		Item source = (this.original != null && isRepresented()) ? this.original : this;
		return source.isBlocked() ? source.reason : null;
	}

	OperationBlockedException reason() {
		return Objects.requireNonNull(this.reason);
	}

	private enum Decision {

		DUE,

		// An earlier item with the same key is due.
		COPY,

		// Another item has a higher version of the key.
		SUPERSEDED,

		REPLAYED,

		BLOCKED,

		// An earlier item is blocked, has failed or can never be handled.
		LEFT_OUT

	}

}
