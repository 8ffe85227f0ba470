package dev.idempotency.outbox;

/**
 * What happens to messages whose topic and key are those of an earlier message that is
 * set aside.
 *
 * @since 0.1.0
 */
public enum OnRefused {

	/**
	 * They wait, without limit, until the earlier one is retried or discarded.
	 */
	BLOCK_KEY,

	/**
	 * They are published: the earlier one loses its place in the order.
	 */
	SKIP

}
