package dev.idempotency;

import java.util.Optional;

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
	 * Note that the handler failed, in a transaction of its own, after the handler's has
	 * been rolled back. Never changes a record that is not free.
	 * @param claim the request that had acquired the key
	 * @param failure why
	 * @return {@link Settlement#LOST} if somebody else has the key now
	 */
	Settlement noteFailure(ClaimRequest claim, Failure failure);

}
