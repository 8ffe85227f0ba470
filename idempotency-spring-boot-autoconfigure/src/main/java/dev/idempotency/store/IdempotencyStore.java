package dev.idempotency.store;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationInProgressException;

/**
 * Where keys are claimed and remembered. Obligations of every implementation:
 * <ol>
 * <li>Each method is atomic, whatever the number of threads and processes.</li>
 * <li>Time is the store's own clock, never the caller's.</li>
 * <li>A mutation takes effect only for the owner token of the request; else nothing
 * changes and the answer is {@link Settlement#LOST}, or {@link Settlement#FORGOTTEN} if
 * there is no record under the key.</li>
 * <li>Fencing tokens of a key grow for as long as the key is remembered.</li>
 * <li>A call that is repeated with the same owner token, as after an error that left its
 * outcome unclear, is answered as if the first had not been made: an unsettled claim is
 * acquired again with the same fencing token and attempt and a new lease; a settlement
 * that is repeated is settled again and changes nothing.</li>
 * <li>Every call ends within the configured time, with an answer or with one of these
 * exceptions, whose messages contain no values:
 * <ul>
 * <li>{@link IdempotencyStoreUnavailableException} when the store serves nobody now:
 * there is no connection, no answer in time, no memory or disk, or nobody is let in. The
 * circuit breaker counts it.</li>
 * <li>{@link IdempotencyStoreRefusedException} when the store answered and refused this
 * call: a missing privilege or table, another isolation, a value that it cannot keep, a
 * programming error. Nothing was changed; of a call for several keys, the others may have
 * been. Only the records concerned are blocked.</li>
 * <li>{@link OperationInProgressException} when a concurrent transaction holds the key,
 * or the database ended this one because of another.</li>
 * <li>{@link IdempotencyRecordUnreadableException} when the value under the key is not a
 * record of this library.</li>
 * </ul>
 * Of other exceptions, those of Spring's {@code DataAccessException} hierarchy, of JDBC
 * and of the network that mean a lost connection, an expired time-out or a lack of
 * resources count as an outage, and all others as a refusal.</li>
 * </ol>
 * The contract test {@code dev.idempotency.contract.IdempotencyStoreContract}, in the
 * {@code tests} jar of this module, tests all of them.
 *
 * @since 0.1.0
 */
public interface IdempotencyStore {

	/**
	 * A short name for log lines and meters.
	 * @return the name
	 */
	String name();

	/**
	 * What an administrator should change about the servers of the store. The store
	 * works, but records may be lost or refused. It is a detail of the health, which
	 * stays up. Must not call the servers.
	 * @return what to change, in sentences; empty if nothing is known to be wrong
	 */
	default Optional<String> warning() {
		return Optional.empty();
	}

	/**
	 * Claim a key: absent, failed, run out and expired keys become the caller's; a
	 * completed key answers with its result; a live claim of another owner stays as it
	 * is. Only a completed key and a live claim of another owner compare their content,
	 * as {@link Fingerprint} describes; a key that becomes the caller's takes the
	 * fingerprint of the request. Durable when the method returns, independent of any
	 * transaction of the caller.
	 * @param request the request
	 * @return the answer
	 */
	Claim claim(ClaimRequest request);

	/**
	 * Remember the operation as completed. An owner whose lease has run out still
	 * completes if nobody took the key over; one that has failed or released its claim
	 * does not.
	 * @param claim the request that acquired the key
	 * @param result the result to replay, {@code null} for none
	 * @return whether the key was still the caller's
	 */
	Settlement complete(ClaimRequest claim, byte @Nullable [] result);

	/**
	 * Note that the handler failed: the key may be claimed again at once.
	 * @param claim the request that acquired the key
	 * @param failure why
	 * @return whether the key was still the caller's
	 */
	Settlement fail(ClaimRequest claim, Failure failure);

	/**
	 * Give a key back whose handler was not run to its end, without counting an attempt.
	 * @param claim the request that acquired the key
	 * @return whether the key was still the caller's
	 */
	Settlement release(ClaimRequest claim);

	/**
	 * Start the lease anew, also when it has run out and nobody took the key over.
	 * @param claim the request that acquired the key
	 * @return whether the key was still the caller's
	 */
	Settlement renew(ClaimRequest claim);

	/**
	 * Write a claim again that the store has {@link Settlement#FORGOTTEN forgotten}: if
	 * there is no record under the key, the key becomes the caller's, with the fencing
	 * token and the attempt that it had and a new lease; the retention is counted from
	 * now. A claim that is still the caller's gets a new lease. Any other record stays as
	 * it is, whatever its state.
	 * @param claim the request that acquired the key
	 * @param acquired the answer to that request
	 * @return {@link Settlement#SETTLED} if the key is the caller's and in progress, else
	 * {@link Settlement#LOST}
	 */
	Settlement restore(ClaimRequest claim, Claim.Acquired acquired);

	/**
	 * Start several leases anew, in one round trip if the store can. Each is renewed or
	 * not for itself.
	 * @param claims the requests that acquired the keys; of requests for the same key at
	 * most one is the owner's
	 * @return for each request, in their order, whether its key was still the caller's
	 * @throws RuntimeException if nobody can say whose one of the keys is, as of a key
	 * that a concurrent transaction holds; the others have been renewed all the same, as
	 * far as the store can
	 */
	default List<Settlement> renewAll(List<ClaimRequest> claims) {
		List<Settlement> answers = new ArrayList<>();
		RuntimeException failure = null;
		for (ClaimRequest claim : claims) {
			try {
				answers.add(renew(claim));
			}
			catch (RuntimeException ex) {
				failure = (failure != null) ? failure : ex;
			}
		}
		if (failure != null) {
			throw failure;
		}
		return answers;
	}

	/**
	 * Claim several keys, each for itself as {@link #claim} does, in one round trip if
	 * the store can.
	 * @param requests the requests, each key at most once
	 * @return the answers, in the order of the requests
	 * @throws OperationInProgressException if a concurrent transaction holds one of the
	 * keys for too long and the store cannot say which; any of them may have been claimed
	 * then, and a repetition with the same tokens gets them again
	 * @throws IdempotencyRecordUnreadableException if what the store keeps under one of
	 * the keys is not a record; the others may have been claimed then
	 * @throws IdempotencyStoreRefusedException if the store refuses one of the requests,
	 * or all; the others are claimed one by one then
	 */
	default List<Claim> claimAll(List<ClaimRequest> requests) {
		return requests.stream().map(this::claim).toList();
	}

	/**
	 * Remember several operations as completed, each for itself as {@link #complete}
	 * does, in one round trip if the store can.
	 * @param completions the completions; of those of the same key at most one is the
	 * owner's
	 * @return for each, in their order, whether its key was still the caller's
	 * @throws OperationInProgressException if a concurrent transaction holds one of the
	 * keys for too long; the others have been completed all the same, as far as the store
	 * can, and a repetition is answered for all
	 */
	default List<Settlement> completeAll(List<Completion> completions) {
		return completions.stream().map((completion) -> complete(completion.claim(), completion.result())).toList();
	}

	/**
	 * Note that the handler of several operations failed, each for itself as
	 * {@link #fail} does, in one round trip if the store can.
	 * @param claims the requests that acquired the keys; of requests for the same key at
	 * most one is the owner's
	 * @param failure why
	 * @return for each, in their order, whether its key was still the caller's
	 * @throws OperationInProgressException if a concurrent transaction holds one of the
	 * keys for too long; the others have been noted all the same, as far as the store
	 * can, and a repetition is answered for all
	 */
	default List<Settlement> failAll(List<ClaimRequest> claims, Failure failure) {
		return claims.stream().map((claim) -> fail(claim, failure)).toList();
	}

	/**
	 * Give several keys back, each for itself as {@link #release} does, in one round trip
	 * if the store can.
	 * @param claims the requests that acquired the keys; of requests for the same key at
	 * most one is the owner's
	 * @return for each, in their order, whether its key was still the caller's
	 * @throws OperationInProgressException if a concurrent transaction holds one of the
	 * keys for too long; the others have been given back all the same, as far as the
	 * store can, and a repetition is answered for all
	 */
	default List<Settlement> releaseAll(List<ClaimRequest> claims) {
		return claims.stream().map(this::release).toList();
	}

	/**
	 * Look a key up without changing it.
	 * @param key the key
	 * @return what is known about it; of a completed key also the time of its completion
	 */
	Optional<IdempotencyRecord> find(IdempotencyKey key);

	/**
	 * What people may look at and change, if the store can show it.
	 * @return the records
	 */
	default Optional<IdempotencyRecords> records() {
		return Optional.empty();
	}

	/**
	 * Whether claims with a lease are safe. They are renewed and completed by threads of
	 * the library, so every thread must reach the same records.
	 * @return whether the store reaches the same records from every thread
	 */
	default boolean supportsLeases() {
		return true;
	}

	/**
	 * Make sure that the store answers.
	 */
	void ping();

}
