package dev.idempotency.store;

import java.util.List;
import java.util.Optional;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.UnexpectedRollbackException;

import dev.idempotency.OperationInProgressException;

/**
 * A store that can keep the record in the transaction of the handler's own writes. The
 * methods that do so use the connection that is bound to the current thread; what they
 * wrote exists when that transaction commits, and only then.
 *
 * @since 0.1.0
 */
public interface TransactionalIdempotencyStore extends IdempotencyStore {

	/**
	 * Insert a completed record for an absent key into the current transaction, with one
	 * statement. Waits, no longer than the configured time, for a concurrent transaction
	 * that has inserted the same key.
	 * @param request the request
	 * @return the claim, or nothing if a record exists; the transaction must then be
	 * rolled back
	 * @throws OperationInProgressException if the concurrent transaction took longer
	 */
	Optional<Claim.Acquired> insert(ClaimRequest request);

	/**
	 * Claim a key in the current transaction like {@link #claim(ClaimRequest)}, as a
	 * completed record.
	 * @param request the request
	 * @param joined whether the transaction belongs to somebody else and must survive a
	 * failing statement
	 * @return the answer
	 */
	Claim claimInTransaction(ClaimRequest request, boolean joined);

	/**
	 * Add the result to the record that the current transaction has written.
	 * @param claim the request that acquired the key
	 * @param result the result
	 */
	void storeResult(ClaimRequest claim, byte[] result);

	/**
	 * Make sure that the current transaction, in which the handler has run, can be
	 * committed. Some databases answer the commit of a transaction in which a statement
	 * has failed with a rollback, and their drivers do not report it. Costs no round
	 * trip.
	 * @throws UnexpectedRollbackException if it can only be rolled back
	 */
	default void requireCommittable() {
	}

	/**
	 * Whether transactions of an isolation level can hold a record. Asked at start-up.
	 * @param isolation the level, a constant of {@link TransactionDefinition}
	 * @return a problem as the end of a sentence that begins with "its transactions",
	 * {@code null} if there is none
	 */
	default @Nullable String isolationProblem(int isolation) {
		return null;
	}

	/**
	 * Note that the handler failed, in a transaction of its own, after the handler's has
	 * been rolled back. Never changes a record that is not free.
	 * @param claim the request that had acquired the key
	 * @param failure why
	 * @return {@link Settlement#LOST} if somebody else has the key now
	 */
	Settlement noteFailure(ClaimRequest claim, Failure failure);

	/**
	 * Claim several keys in the current transaction, each for itself as
	 * {@link #claimInTransaction} does, in one round trip if the store can.
	 * @param requests the requests, each key at most once
	 * @param joined whether the transaction belongs to somebody else and must survive a
	 * failing statement
	 * @return the answers, in the order of the requests
	 * @throws OperationInProgressException if a concurrent transaction holds one of the
	 * keys for too long and the store cannot say which; a transaction that has not been
	 * joined must then be rolled back
	 */
	default List<Claim> claimAllInTransaction(List<ClaimRequest> requests, boolean joined) {
		return requests.stream().map((request) -> claimInTransaction(request, joined)).toList();
	}

	/**
	 * Add results to records that the current transaction has written, in one round trip
	 * if the store can.
	 * @param completions the results, none {@code null}
	 */
	default void storeResults(List<Completion> completions) {
		for (Completion completion : completions) {
			byte[] result = completion.result();
			if (result != null) {
				storeResult(completion.claim(), result);
			}
		}
	}

	/**
	 * Note that the handler of several operations failed, each for itself as
	 * {@link #noteFailure} does, in one round trip if the store can.
	 * @param claims the requests that had acquired the keys, each key at most once
	 * @param failure why
	 * @return for each, in their order, {@link Settlement#LOST} if somebody else has the
	 * key now
	 */
	default List<Settlement> noteFailures(List<ClaimRequest> claims, Failure failure) {
		return claims.stream().map((claim) -> noteFailure(claim, failure)).toList();
	}

}
