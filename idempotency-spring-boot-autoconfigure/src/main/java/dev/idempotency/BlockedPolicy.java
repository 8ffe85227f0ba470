package dev.idempotency;

/**
 * The treatment of a record whose key another owner holds, until that owner completes,
 * fails or expires.
 *
 * @since 0.1.0
 */
public enum BlockedPolicy {

	/**
	 * The default: the policy of {@code idempotency.blocked}.
	 */
	DEFAULT,

	/**
	 * The partition of the record is paused.
	 */
	PAUSE,

	/**
	 * The record is stored in a table of the JDBC store, and the other records of its
	 * partition are processed. Later records with the same message key are stored behind
	 * it. A thread of the listener processes the stored records when the key is free, in
	 * the order of each message key. Not for all listeners.
	 */
	PARK

}
