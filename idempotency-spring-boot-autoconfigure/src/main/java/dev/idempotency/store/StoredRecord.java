/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import java.time.Instant;
import java.util.UUID;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.IdempotencyRecord.State;

/**
 * What a store remembers of a key. It changes by a {@link Transition} only.
 *
 * @param token the owner token of the last claim
 * @param state the state; failed without a failure means released
 * @param fence the fencing token of the last claim
 * @param attempt the number of starts of the operation since it last completed
 * @param fingerprint the fingerprint of the last claim, {@code null} if it had none
 * @param version the version of the last claim, {@code null} if it had none
 * @param completedVersion the version that completed last, {@code null} if there is none
 * @param result the result of the completion, {@code null} if there is none
 * @param failure the failure of the last attempt, {@code null} if there is none
 * @param claimedUntil the time at which the last claim expires
 * @param createdAt the time of the first claim
 * @param completedAt the time of the completion, {@code null} unless completed
 * @param expiresAt the time at which the retention ends, counted from the last claim
 * @since 0.1.0
 */
public record StoredRecord(UUID token, State state, int fence, int attempt, byte @Nullable [] fingerprint,
		@Nullable Long version, @Nullable Long completedVersion, byte @Nullable [] result, @Nullable Failure failure,
		Instant claimedUntil, Instant createdAt, @Nullable Instant completedAt, Instant expiresAt) {

	/**
	 * Whether an owner may run the operation.
	 * @param now the time
	 * @return whether the key has a claim that has not expired
	 */
	public boolean isLive(Instant now) {
		return isInProgress() && now.isBefore(this.claimedUntil);
	}

	/**
	 * Whether the key may be forgotten.
	 * @param now the time
	 * @return whether the retention has ended, and no claim is live
	 */
	public boolean isExpired(Instant now) {
		return !now.isBefore(this.expiresAt) && !isLive(now);
	}

	/**
	 * Return the record as an operator sees it.
	 * @param key the key
	 * @return the record
	 */
	public IdempotencyRecord toRecord(IdempotencyKey key) {
		return new IdempotencyRecord(key, this.state, this.fence, this.attempt,
				isInProgress() ? this.claimedUntil : null, this.createdAt, this.completedAt, this.expiresAt,
				this.failure, this.completedVersion);
	}

	boolean isInProgress() {
		return this.state == State.IN_PROGRESS;
	}

	boolean isCompleted() {
		return this.state == State.COMPLETED;
	}

	boolean isOwnedBy(ClaimRequest claim) {
		return this.token.equals(claim.token());
	}

	// A key that completed without a version is below all versions.
	boolean isBelow(@Nullable Long other) {
		return other != null && (this.completedVersion == null || this.completedVersion < other);
	}

	static StoredRecord claimed(ClaimRequest request, int fence, int attempt, Instant now) {
		return new StoredRecord(request.token(), State.IN_PROGRESS, fence, attempt, request.fingerprint(),
				request.version(), null, null, null, now.plus(request.lease()), now, null,
				now.plus(request.retention()));
	}

	// A claim that fails must not forget the version that completed last.
	StoredRecord claimedAgain(ClaimRequest request, int fence, int attempt, Instant now) {
		return new StoredRecord(request.token(), State.IN_PROGRESS, fence, attempt, request.fingerprint(),
				request.version(), this.completedVersion, resultOfVersion(), null, now.plus(request.lease()),
				this.createdAt, null, now.plus(request.retention()));
	}

	// The caller may reuse the array.
	StoredRecord completed(byte @Nullable [] result, Instant now) {
		return new StoredRecord(this.token, State.COMPLETED, this.fence, this.attempt, this.fingerprint, this.version,
				(this.version != null) ? this.version : this.completedVersion, (result != null) ? result.clone() : null,
				null, this.claimedUntil, this.createdAt, now, this.expiresAt);
	}

	StoredRecord failed(UUID token, @Nullable Failure failure, int attempt) {
		return new StoredRecord(token, State.FAILED, this.fence, attempt, this.fingerprint, this.version,
				this.completedVersion, resultOfVersion(), failure, this.claimedUntil, this.createdAt, null,
				this.expiresAt);
	}

	StoredRecord renewed(Instant until) {
		return new StoredRecord(this.token, this.state, this.fence, this.attempt, this.fingerprint, this.version,
				this.completedVersion, this.result, this.failure, until, this.createdAt, this.completedAt,
				this.expiresAt);
	}

	private byte @Nullable [] resultOfVersion() {
		return (this.completedVersion != null) ? this.result : null;
	}

}
