package dev.idempotency.template;

import java.util.List;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.Settlement;

/**
 * A completion that waits for the outcome of the caller's transaction, or for an
 * acknowledgment. Its lease is renewed until then. Exactly one of the methods is to be
 * called, once; only a release may follow when the outcome was unknown at first.
 *
 * @since 0.1.0
 */
public interface PendingCompletion {

	/**
	 * The transaction has committed: remember the operations as completed. A completion
	 * that the store does not take now keeps its lease and is retried until the store
	 * does, or this process ends; an operation that another owner has taken over is
	 * logged.
	 * @return {@link Settlement#LOST} if that was so for one of them
	 */
	Settlement complete();

	/**
	 * The transaction has been rolled back: give the keys back, so that the operations
	 * can be run again at once.
	 */
	void release();

	/**
	 * The outcome of the transaction is unknown: renew the leases no more, so that the
	 * keys are free when they have expired.
	 */
	void abandon();

	/**
	 * Look up how the completion ended.
	 * @return {@link Settlement#SETTLED} if it is recorded, {@link Settlement#LOST} if
	 * another owner has taken one of the operations over, {@code null} while neither is
	 * known: before {@link #complete()}, and while the store is unavailable
	 */
	@Nullable Settlement outcome();

	/**
	 * Look up the answer that duplicates of an operation get when it is completed.
	 * @param key the key
	 * @param fingerprint the fingerprint of the content
	 * @return its completion, {@code null} if it is not here with exactly this
	 * fingerprint
	 */
	Claim.@Nullable Completed find(IdempotencyKey key, byte @Nullable [] fingerprint);

	/**
	 * Join completions of one template, so that the store records or releases all of them
	 * with one call.
	 * @param completions the completions, at least one
	 * @return all of them
	 */
	static PendingCompletion all(List<? extends PendingCompletion> completions) {
		return (completions.size() == 1) ? completions.get(0) : JoinedCompletion.of(completions);
	}

}
