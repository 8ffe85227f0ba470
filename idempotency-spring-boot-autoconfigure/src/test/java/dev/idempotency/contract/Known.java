package dev.idempotency.contract;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.ClaimRequest;

/**
 * The ways in which a key can be known.
 */
enum Known {

	LIVE, RUN_OUT, FAILED, RELEASED, COMPLETED;

	ClaimRequest reach(StoreContract contract, IdempotencyKey key) {
		return reach(contract, key, null);
	}

	// Returns the request of the owner.
	ClaimRequest reach(StoreContract contract, IdempotencyKey key, @Nullable String content) {
		Duration lease = (this == RUN_OUT) ? contract.lease() : Requests.LEASE;
		ClaimRequest owner = Requests.request(key, content, lease, Requests.RETENTION);
		Requests.acquire(contract.store(), owner);
		switch (this) {
			case LIVE -> {
			}
			case RUN_OUT -> contract.letPass(lease);
			case FAILED -> Mutation.FAIL.apply(contract.store(), owner);
			case RELEASED -> Mutation.RELEASE.apply(contract.store(), owner);
			case COMPLETED -> Mutation.COMPLETE.apply(contract.store(), owner);
		}
		return owner;
	}

}
