package dev.idempotency.store;

/**
 * The outcome of a mutation by an owner.
 *
 * @since 0.1.0
 */
public enum Settlement {

	/**
	 * The caller owned the record, and the record was changed.
	 */
	SETTLED,

	/**
	 * Nothing was changed, because the caller no longer owns the record. Another owner
	 * has taken over the key, or the caller has settled its claim in another way.
	 */
	LOST,

	/**
	 * Nothing was changed, because the store has no record under the key. The record was
	 * evicted, or was lost in a failover. Its owner may
	 * {@link IdempotencyStore#restore(ClaimRequest, Claim.Acquired) restore} the claim.
	 */
	FORGOTTEN

}
