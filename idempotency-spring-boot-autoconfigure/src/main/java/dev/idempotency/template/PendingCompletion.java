package dev.idempotency.template;

import java.util.List;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * A completion that waits for the outcome of the caller's transaction, or for an
 * acknowledgment. Its lease is renewed until then. The receiver calls exactly one of
 * {@link #complete()}, {@link #release()} and {@link #abandon()}, once; only a release
 * may follow an abandonment, when the outcome of the transaction becomes known.
 *
 * @since 0.1.0
 */
public interface PendingCompletion {

	/**
	 * Record the operations as completed, because the transaction has committed. If the
	 * store is unavailable, the lease is kept and the completion is retried until the
	 * store records it or this process ends. An operation that another owner has taken
	 * over is logged.
	 * @return {@link Settlement#LOST} if another owner has taken one of them over
	 */
	Settlement complete();

	/**
	 * Release the keys, because the transaction has been rolled back. The operations can
	 * be run again at once.
	 */
	void release();

	/**
	 * Stop renewing the leases, because the outcome of the transaction is unknown. The
	 * keys are free when their leases have expired.
	 */
	void abandon();

	/**
	 * Return the outcome of the completion.
	 * @return {@link Settlement#SETTLED} if it is recorded, {@link Settlement#LOST} if
	 * another owner has taken one of the operations over, {@code null} while neither is
	 * known: before {@link #complete()}, and while the store is unavailable
	 */
	@Nullable Settlement outcome();

	/**
	 * Look up the completion that duplicates of an operation replay when the operation is
	 * completed.
	 * @param key the key
	 * @param fingerprint the fingerprint of the content
	 * @return its completion, {@code null} if this one does not contain the key with
	 * exactly this fingerprint
	 */
	Claim.@Nullable Completed find(IdempotencyKey key, byte @Nullable [] fingerprint);

	/**
	 * Join completions of one template, so that the store records or releases all of them
	 * with one call.
	 * @param completions the completions, at least one
	 * @return the joined completion
	 */
	static PendingCompletion all(List<? extends PendingCompletion> completions) {
		return (completions.size() == 1) ? completions.get(0)
				: new DeferredCompletion(completions.stream().map(DeferredCompletion.class::cast).toList());
	}

}
