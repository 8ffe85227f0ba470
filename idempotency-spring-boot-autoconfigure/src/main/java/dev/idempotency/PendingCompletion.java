package dev.idempotency;

/**
 * A completion that waits for the outcome of the caller's transaction. Its lease is
 * renewed until then. Exactly one of the methods is to be called, once; only a release
 * may follow when the outcome was unknown at first.
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

}
