package dev.idempotency;

/**
 * What a handler has done, while it is not yet known whether that holds: to be settled
 * when the transaction that it took part in has ended. Until then its lease is renewed.
 * Exactly one of the methods is to be called, once; only a release may follow when nobody
 * knew at first.
 *
 * @since 0.1.0
 */
public interface PendingCompletion {

	/**
	 * The transaction has committed: remember the operations as completed. What the store
	 * does not take now is repeated until it does, or this process ends; an operation
	 * that somebody else has taken over is logged.
	 * @return {@link Settlement#LOST} if that was so for one of them
	 */
	Settlement complete();

	/**
	 * The transaction has been rolled back: give the keys back, so that the operations
	 * can be run again at once.
	 */
	void release();

	/**
	 * Nobody knows what became of the transaction: renew the leases no more, and leave
	 * the keys until they have run out.
	 */
	void abandon();

}
