package dev.idempotency;

/**
 * How an operation is protected.
 *
 * @since 0.1.0
 */
public enum Mode {

	/**
	 * The default: {@link #TRANSACTIONAL} where the store can join the transaction of the
	 * handler's database, {@link #LEASED} elsewhere.
	 */
	AUTO,

	/**
	 * The record commits in the same database transaction as the handler's own writes: a
	 * crash at any instant leaves both or neither.
	 */
	TRANSACTIONAL,

	/**
	 * The handler runs under a claim with a lease: at most one live execution, at least
	 * one completed. For handlers with effects outside the store's database.
	 */
	LEASED

}
