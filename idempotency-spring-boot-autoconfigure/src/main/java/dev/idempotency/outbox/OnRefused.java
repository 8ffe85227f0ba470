package dev.idempotency.outbox;

/**
 * The treatment of messages whose topic and key are those of an earlier dead letter.
 *
 * @since 0.1.0
 */
public enum OnRefused {

	/**
	 * They are blocked, without a time limit, until the dead letter is retried or
	 * discarded.
	 */
	BLOCK_KEY,

	/**
	 * They are published. The dead letter loses its place in the order.
	 */
	SKIP

}
