package dev.idempotency.store;

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
	 * The record is no longer the caller's: nothing was changed. Another owner has taken
	 * the key over, or the caller has ended its claim in another way.
	 */
	LOST,

	/**
	 * The store knows no record under the key: nothing was changed. The record was
	 * evicted, or was lost in a failover. Its owner may
	 * {@link IdempotencyStore#restore(ClaimRequest, Claim.Acquired) restore} the claim.
	 */
	FORGOTTEN

}
