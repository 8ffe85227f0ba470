/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import java.time.Duration;
import java.time.Instant;
import java.util.UUID;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;

import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * The state machine of a key: what each call of {@link IdempotencyStore} answers, and
 * what the store remembers after it. A store executes a transition atomically, with the
 * time of its own clock. The statements, scripts and expressions of each store are this
 * definition in another language, and the contract test compares them with it.
 *
 * @param <T> the type of the answer
 * @param next what the store remembers of the key, {@code null} for nothing
 * @param answer the answer to the caller
 * @since 0.1.0
 */
public record Transition<T>(@Nullable StoredRecord next, T answer) {

	/**
	 * Claim a key. In this order:
	 * <ol>
	 * <li>a key that is absent, whose retention has ended, or that has completed a lower
	 * version or none, is acquired with the next fence as a new operation;</li>
	 * <li>an owner that repeats its claim acquires it again, with the same fence and
	 * attempt and a new lease;</li>
	 * <li>a version below the one that completed last is stale;</li>
	 * <li>a key that has failed, was released, or whose lease has expired is acquired
	 * with the next fence and attempt, unless its version has completed;</li>
	 * <li>a key with another fingerprint is a mismatch. That of a claim in progress is
	 * not compared with versions, because it may be that of another version;</li>
	 * <li>a key that has completed is answered with its result, one in progress with its
	 * remaining lease.</li>
	 * </ol>
	 * @param current what the store remembers of the key
	 * @param request the request
	 * @param now the time
	 * @return the transition
	 */
	public static Transition<Claim> claim(@Nullable StoredRecord current, ClaimRequest request, Instant now) {
		if (current == null) {
			return acquired(StoredRecord.claimed(request, 1, 1, now));
		}
		if (current.isCompleted() && (current.isExpired(now) || current.isBelow(request.version()))) {
			return acquired(current.claimedAgain(request, current.fence() + 1, 1, now));
		}
		if (current.isInProgress() && current.isOwnedBy(request)) {
			return acquired(current.claimedAgain(request, current.fence(), current.attempt(), now));
		}
		Long version = request.version();
		Long completed = current.completedVersion();
		if (version != null && completed != null && version < completed) {
			return new Transition<>(current, new Claim.Stale(completed));
		}
		boolean done = current.isCompleted() || (version != null && version.equals(completed));
		if (!done && !current.isLive(now)) {
			return acquired(current.claimedAgain(request, current.fence() + 1, current.attempt() + 1, now));
		}
		if ((version == null || current.isCompleted())
				&& Fingerprint.differs(request.key(), current.fingerprint(), request.fingerprint())) {
			return new Transition<>(current, new Claim.Mismatch());
		}
		return new Transition<>(current, done ? new Claim.Completed(current.result())
				: new Claim.InProgress(Duration.between(now, current.claimedUntil())));
	}

	/**
	 * Record how a claim has ended. A decline completes it too, with a result that says
	 * so. A key that has failed or was released may be claimed again at once, and a
	 * release does not count the attempt. A claim that has failed is released already.
	 * The owner of a claim that has expired still settles it, unless another owner has
	 * the key.
	 * @param current what the store remembers of the key
	 * @param ending the end of the claim
	 * @param now the time
	 * @return the transition
	 */
	public static Transition<Settlement> settle(@Nullable StoredRecord current, Ending ending, Instant now) {
		boolean completes = ending instanceof Ending.Completed;
		return settle(current, ending.claim(),
				(own) -> own.isInProgress() ? ended(own, ending, now) : (own.isCompleted() == completes) ? own : null);
	}

	private static StoredRecord ended(StoredRecord own, Ending ending, Instant now) {
		if (ending instanceof Ending.Completed completed) {
			return own.completed(completed.result(), now);
		}
		return (ending instanceof Ending.Failed failed) ? own.failed(own.token(), failed.failure(), own.attempt())
				: own.failed(own.token(), null, own.attempt() - 1);
	}

	/**
	 * Renew a lease, also one that has expired, unless another owner has the key.
	 * @param current what the store remembers of the key
	 * @param claim the request that acquired it
	 * @param now the time
	 * @return the transition
	 */
	public static Transition<Settlement> renew(@Nullable StoredRecord current, ClaimRequest claim, Instant now) {
		return settle(current, claim, (own) -> own.isInProgress() ? own.renewed(now.plus(claim.lease())) : null);
	}

	/**
	 * Restore a claim of a key that the store has forgotten, or renew it.
	 * @param current what the store remembers of the key
	 * @param claim the request that acquired it
	 * @param acquired the answer to that request
	 * @param now the time
	 * @return the transition
	 */
	public static Transition<Settlement> restore(@Nullable StoredRecord current, ClaimRequest claim,
			Claim.Acquired acquired, Instant now) {
		return (current != null) ? renew(current, claim, now) : new Transition<>(
				StoredRecord.claimed(claim, acquired.fence(), acquired.attempt(), now), Settlement.SETTLED);
	}

	/**
	 * Claim and complete a key in the transaction of its handler, which makes both
	 * visible at its commit.
	 * @param current what the store remembers of the key
	 * @param request the request
	 * @param now the time
	 * @return the transition
	 */
	public static Transition<Claim> claimInTransaction(@Nullable StoredRecord current, ClaimRequest request,
			Instant now) {
		Transition<Claim> claimed = claim(current, request, now);
		return (claimed.next() != null && claimed.answer() instanceof Claim.Acquired)
				? new Transition<>(claimed.next().completed(null, now), claimed.answer()) : claimed;
	}

	/**
	 * Record the failure of a transaction that was rolled back, with its claim.
	 * @param current what the store remembers of the key
	 * @param claim the request
	 * @param failure the failure
	 * @param now the time
	 * @return the transition
	 */
	public static Transition<Settlement> noteFailure(@Nullable StoredRecord current, ClaimRequest claim,
			Failure failure, Instant now) {
		Transition<Claim> claimed = claim(current, claim, now);
		return (claimed.answer() instanceof Claim.Acquired)
				? settle(claimed.next(), new Ending.Failed(claim, failure), now)
				: new Transition<>(current, Settlement.LOST);
	}

	/**
	 * Release the key of an operator, whose owner cannot settle it any more.
	 * @param current what the store remembers of the key
	 * @return what it remembers afterwards
	 */
	public static StoredRecord release(StoredRecord current) {
		return current.isCompleted() ? current
				: current.failed(UUID.randomUUID(), current.failure(), current.attempt());
	}

	// The step returns null if the state does not allow the settlement, and the same
	// record for one that is repeated.
	private static Transition<Settlement> settle(@Nullable StoredRecord current, ClaimRequest claim,
			Function<StoredRecord, @Nullable StoredRecord> step) {
		if (current == null) {
			return new Transition<>(null, Settlement.FORGOTTEN);
		}
		StoredRecord next = current.isOwnedBy(claim) ? step.apply(current) : null;
		return (next != null) ? new Transition<>(next, Settlement.SETTLED) : new Transition<>(current, Settlement.LOST);
	}

	private static Transition<Claim> acquired(StoredRecord next) {
		return new Transition<>(next, new Claim.Acquired(next.fence(), next.attempt()));
	}

}
