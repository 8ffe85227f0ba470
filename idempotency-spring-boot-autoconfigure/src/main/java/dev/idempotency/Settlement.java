package dev.idempotency;

/**
 * Whether a mutation by an owner took effect.
 *
 * @since 0.1.0
 */
public enum Settlement {

	/**
	 * The record was the caller's and was changed.
	 */
	SETTLED,

	/**
	 * The record is no longer the caller's: nothing was changed.
	 */
	LOST

}
