/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationInProgressException;

/**
 * Stores idempotency keys and their claims. Obligations of every implementation:
 * <ol>
 * <li>Each method is atomic for each key, for any number of threads and processes. A
 * method with a list takes one round trip if the store can, and has no effect if the list
 * is empty. Most calls have a list of one element.</li>
 * <li>Time is the store's own clock, never that of the caller. A store whose server has
 * no clock for it may regard a claim as expired when this process has seen it unchanged
 * for the lease that its owner has written, by its monotonic clock. A renewal must then
 * change the record, and the first request for a live claim begins the observation: a
 * take-over may be later by a lease, never earlier. Times that only people see, and the
 * end of a retention with a documented margin, may come from the clocks of the
 * callers.</li>
 * <li>A mutation takes effect only for the owner token of the request. For another token
 * it changes nothing and returns {@link Settlement#LOST}, or {@link Settlement#FORGOTTEN}
 * if there is no record under the key.</li>
 * <li>The fencing tokens of a key grow for as long as the key is remembered.</li>
 * <li>A call may be repeated with the same owner token, for example after an error that
 * left its outcome unknown. It returns the same as if the first call had not been made: a
 * claim that is not settled is acquired again with the same fencing token and attempt and
 * a new lease; a repeated settlement returns {@link Settlement#SETTLED} and changes
 * nothing.</li>
 * <li>Every call ends within the configured time, with a return value or with one of
 * these exceptions, whose messages contain no values:
 * <ul>
 * <li>{@link IdempotencyStoreUnavailableException} when the store is unavailable for
 * every caller: there is no connection, no answer in time, no memory or disk space, or it
 * accepts no connection. The circuit breaker counts it.</li>
 * <li>{@link IdempotencyStoreRefusedException} when the store answered and refused this
 * call: a missing privilege or table, an unsupported isolation level, a value that it
 * cannot hold, a programming error. Nothing was changed; in a call for several keys, the
 * others may have been changed. Only the records concerned are blocked.</li>
 * <li>{@link OperationInProgressException} when a concurrent transaction holds the key,
 * or the database aborted this transaction because of another one.</li>
 * <li>{@link IdempotencyRecordUnreadableException} when the value under the key is not a
 * record of this library.</li>
 * </ul>
 * Other exceptions count as an outage if they are exceptions of Spring's
 * {@code DataAccessException} hierarchy, of JDBC or of the network that mean a lost
 * connection, an expired timeout or a lack of resources. All others count as a
 * refusal.</li>
 * </ol>
 * The contract test {@code dev.idempotency.contract.IdempotencyStoreContract}, in the
 * {@code tests} jar of this module, tests all obligations.
 *
 * @since 0.1.0
 */
public interface IdempotencyStore {

	/**
	 * Return a short name for log lines and meters.
	 * @return the name
	 */
	String name();

	/**
	 * Return a warning about the configuration of the servers, for example that they may
	 * evict records. The warning is a detail of the health indicator, which stays up. The
	 * method must not call the servers.
	 * @return the problem and its remedy in sentences, empty if no problem is known
	 */
	default Optional<String> warning() {
		return Optional.empty();
	}

	/**
	 * Return why claims with a lease are not safe. Threads of the library renew and
	 * complete them, so the store must reach the same records from every thread.
	 * @return the reason as a clause that names its subject, {@code null} if they are
	 * safe
	 */
	default @Nullable String leaseProblem() {
		return null;
	}

	/**
	 * Claim keys. The caller acquires a key that is absent or failed, whose claim has
	 * expired, or whose retention has ended. The claim of a completed key returns its
	 * result. A live claim of another owner stays. The fingerprint is compared, as
	 * {@link Fingerprint} describes, with that of a completed key or of a live claim of
	 * another owner; an acquired key has the fingerprint of the request. The claims are
	 * durable when the method returns, independent of any transaction of the caller.
	 * <p>
	 * A request with a {@link ClaimRequest#version() version} is compared with the
	 * version of the key that completed last, as long as the key is remembered. A lower
	 * version is {@link Claim.Stale stale}, and an equal one returns the result of that
	 * completion, both whatever became of the claims of higher versions since: the
	 * version that completed last and its result change by a completion only. A higher
	 * version is acquired even if the key is completed; a live claim of another owner
	 * excludes it, of whatever version. A key that completed without a version is below
	 * all versions. The fingerprint is compared for an equal version only. Requests
	 * without a version do not compare versions.
	 * @param requests the requests, each key at most once
	 * @return the answers, in the order of the requests
	 * @throws OperationInProgressException if a concurrent transaction holds one of the
	 * keys for too long and the store cannot tell which; some of the keys may have been
	 * claimed, and a repetition with the same tokens acquires them again
	 * @throws IdempotencyRecordUnreadableException if the value under one of the keys is
	 * not a record; the other keys may have been claimed
	 * @throws IdempotencyStoreRefusedException if the store refuses one of the requests,
	 * or all; the caller then claims the keys one by one
	 */
	List<Claim> claim(List<ClaimRequest> requests);

	/**
	 * Record how claims have ended. An owner whose lease has expired still settles its
	 * claim if no other owner has taken over the key. An owner that has settled its claim
	 * in one way does not settle it in another way, except that a failure and a release
	 * are each the repetition of the other.
	 * <ul>
	 * <li>{@link Ending.Completed} completes the operation, of the version of its
	 * claim.</li>
	 * <li>{@link Ending.Failed} records the failure of the handler. The key may be
	 * claimed again at once.</li>
	 * <li>{@link Ending.Released} releases a key whose handler was not run to its end,
	 * without counting the attempt.</li>
	 * </ul>
	 * The library calls the method with endings of one kind, and with one failure for all
	 * claims that have failed. A store may need a round trip for each kind and for each
	 * failure.
	 * @param endings the endings, of any kinds; at most one of several for the same key
	 * belongs to the owner
	 * @return for each, in their order, whether the caller still owned the key
	 * @throws OperationInProgressException if a concurrent transaction holds one of the
	 * keys for too long; the other claims are settled nevertheless, if the store can, and
	 * a repetition returns the outcome of all
	 */
	List<Settlement> settle(List<Ending> endings);

	/**
	 * Renew leases. A lease that has expired is renewed too, if no other owner has taken
	 * over the key.
	 * @param claims the requests that acquired the keys; at most one of several requests
	 * for the same key belongs to the owner
	 * @return for each request, in their order, whether the caller still owned the key
	 * @throws RuntimeException if the owner of one of the keys is unknown, for example
	 * because a concurrent transaction holds it; the others are renewed nevertheless, if
	 * the store can
	 */
	List<Settlement> renew(List<ClaimRequest> claims);

	/**
	 * Restore a claim that the store has {@link Settlement#FORGOTTEN forgotten}. If there
	 * is no record under the key, the caller acquires the key with its former fencing
	 * token and attempt and a new lease, and the retention is counted from now. A claim
	 * that the caller still owns gets a new lease. Any other record stays as it is.
	 * @param claim the request that acquired the key
	 * @param acquired the answer to that request
	 * @return {@link Settlement#SETTLED} if the caller owns the key and it is in
	 * progress, else {@link Settlement#LOST}
	 */
	Settlement restore(ClaimRequest claim, Claim.Acquired acquired);

	/**
	 * Return whether {@link #completeAndClaim} takes one round trip. Otherwise it is not
	 * called.
	 * @return whether a consumer may claim the key of its next record ahead
	 */
	default boolean supportsClaimAhead() {
		return false;
	}

	/**
	 * Record that an operation has completed, as {@link #settle} does, and claim the key
	 * of another one, as {@link #claim} does, in one round trip. The claim must not delay
	 * the completion for long: it waits for a lock only briefly, and it may return
	 * {@link Claim.InProgress} instead of being repeated after a lost race.
	 * @param completed the end of the claim of the operation
	 * @param next the request for another key than that of the completion
	 * @return both answers
	 * @throws RuntimeException if the outcome of either is unknown, or if the store
	 * refuses either of them. Both may have taken effect nevertheless. The caller then
	 * repeats the completion alone and releases the key
	 */
	default CompletionAndClaim completeAndClaim(Ending.Completed completed, ClaimRequest next) {
		Settlement settlement = settle(List.of(completed)).get(0);
		return new CompletionAndClaim(settlement,
				(settlement == Settlement.SETTLED) ? claim(List.of(next)).get(0) : null);
	}

	/**
	 * Return the answer that {@link #claim} would give, without claiming the key. Nothing
	 * is changed, and a concurrent transaction is not waited for. It is the first step of
	 * a claim while the keys of this store move to another one.
	 * @param request the request
	 * @return the answer; if the caller would acquire the key, the fencing token and the
	 * attempt that it would get
	 */
	Claim lookUp(ClaimRequest request);

	/**
	 * Look up the records of keys without changing them.
	 * @param keys the keys
	 * @return the records by their keys, without the keys that have none
	 */
	Map<IdempotencyKey, IdempotencyRecord> find(Collection<IdempotencyKey> keys);

	/**
	 * Return access to the records for operators.
	 * @return the records, empty if the store supports only look-ups by key
	 */
	default Optional<IdempotencyRecords> records() {
		return Optional.empty();
	}

	/**
	 * Check that the store answers.
	 */
	void ping();

	/**
	 * The outcome of a mutation by an owner.
	 *
	 * @since 0.1.0
	 */
	enum Settlement {

		/**
		 * The caller owned the record, and the record was changed.
		 */
		SETTLED,

		/**
		 * Nothing was changed, because the caller no longer owns the record. Another
		 * owner has taken over the key, or the caller has settled its claim in another
		 * way.
		 */
		LOST,

		/**
		 * Nothing was changed, because the store has no record under the key. The record
		 * was evicted, or was lost in a failover. Its owner may
		 * {@link IdempotencyStore#restore(ClaimRequest, Claim.Acquired) restore} the
		 * claim.
		 */
		FORGOTTEN

	}

	/**
	 * The answers to a completion and to the claim of another key.
	 *
	 * @param settlement whether the caller still owned the key of the completion
	 * @param claim the answer to the claim, {@code null} if the key was not claimed
	 * because the completion was not settled
	 * @since 0.1.0
	 */
	record CompletionAndClaim(Settlement settlement, @Nullable Claim claim) {

	}

}
