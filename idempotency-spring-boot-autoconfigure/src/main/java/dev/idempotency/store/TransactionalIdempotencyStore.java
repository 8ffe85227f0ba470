package dev.idempotency.store;

import java.util.List;
import java.util.Optional;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.UnexpectedRollbackException;

import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.IdempotencyStore.Completion;
import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * A store that can write the record in the transaction of the handler's own writes. The
 * methods for a current transaction use the connection that is bound to the current
 * thread. Their changes take effect if and only if that transaction commits.
 *
 * @since 0.1.0
 */
public interface TransactionalIdempotencyStore extends IdempotencyStore {

	/**
	 * Insert completed records for absent keys into the current transaction, with one
	 * statement. It may also answer for existing records that are not free. Most keys are
	 * new, and an insert is cheaper than a claim. The call waits for a concurrent
	 * transaction that has inserted the same key, no longer than the configured time.
	 * @param requests the requests, each key at most once
	 * @return the answers, in the order of the requests; empty for a key that must be
	 * claimed, and then the caller must roll the transaction back and call
	 * {@link #claimAllInTransaction} in a new one
	 * @throws OperationInProgressException if the concurrent transaction took longer and
	 * the store cannot tell which key it holds; the caller must then roll the transaction
	 * back
	 */
	List<Optional<Claim>> insertAll(List<ClaimRequest> requests);

	/**
	 * Claim keys in the current transaction like {@link #claimAll}, as completed records.
	 * @param requests the requests, each key at most once
	 * @param joined whether the transaction belongs to the caller of the template and
	 * must survive a failing statement
	 * @return the answers, in the order of the requests
	 * @throws OperationInProgressException if a concurrent transaction holds one of the
	 * keys for too long and the store cannot tell which; the caller must then roll back a
	 * transaction that has not been joined
	 */
	List<Claim> claimAllInTransaction(List<ClaimRequest> requests, boolean joined);

	/**
	 * Add results to records that the current transaction has written.
	 * @param completions the results; an operation without a result is left out
	 * @throws UnexpectedRollbackException if the transaction no longer has one of the
	 * records, because the handler has ended it
	 */
	void storeResults(List<Completion> completions);

	/**
	 * Insert a completed record for one absent key, see {@link #insertAll}.
	 * @param request the request
	 * @return the claim; empty if a record exists, and then the caller must roll the
	 * transaction back
	 */
	default Optional<Claim.Acquired> insert(ClaimRequest request) {
		return insertAll(List.of(request)).get(0)
			.filter(Claim.Acquired.class::isInstance)
			.map(Claim.Acquired.class::cast);
	}

	/**
	 * Check that the current transaction, in which the handler has run, can be committed.
	 * Some databases roll back a transaction in which a statement has failed when it is
	 * committed, and their drivers do not report it. The check costs no round trip.
	 * @throws UnexpectedRollbackException if the transaction can only be rolled back
	 */
	default void requireCommittable() {
	}

	/**
	 * Check, at start-up, whether transactions of an isolation level can hold a record.
	 * @param isolation the level, a constant of {@link TransactionDefinition}
	 * @return the problem, as the end of a sentence that begins with "its transactions";
	 * {@code null} if there is none
	 */
	default @Nullable String isolationProblem(int isolation) {
		return null;
	}

	/**
	 * Return the marks of processed offsets.
	 * @return the marks, empty if the store keeps a record for each key only
	 */
	default Optional<OffsetMarks> offsetMarks() {
		return Optional.empty();
	}

	/**
	 * Record that the handler of operations failed, in a separate transaction, after the
	 * transaction of the handler has been rolled back. A record that is not claimable
	 * stays as it is.
	 * @param claims the requests that had acquired the keys, each key at most once
	 * @param failure the failure
	 * @return for each, in their order, {@link Settlement#LOST} if the key is completed
	 * or has another owner now
	 */
	List<Settlement> noteFailures(List<ClaimRequest> claims, Failure failure);

	/**
	 * Undo completions, in a separate transaction, after a handler that did not complete
	 * has ended its transaction itself: by a commit of its connection, or by a statement
	 * with which the database commits. The keys may be claimed again at once, and no
	 * attempt is counted. The effects of a version may have been committed in part, so
	 * lower versions stay excluded. Only records that the requests themselves have
	 * completed, and marks that their tokens have raised last, are changed.
	 * @param claims the requests that had acquired the keys, each key at most once
	 * @param marks the marks that were raised. Each falls to the one before it
	 */
	void undoAll(List<ClaimRequest> claims, List<OffsetMark> marks);

}
