package dev.idempotency.store;

import java.time.Instant;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;

/**
 * What a store knows about a key, for people.
 *
 * @param key the key
 * @param state the state
 * @param fence the fencing token of the last claim
 * @param attempt how often the operation has been started since it last completed
 * @param claimedUntil when the current claim runs out, {@code null} unless in progress
 * @param createdAt when the key was first claimed
 * @param completedAt when the operation was completed, by the store's clock: in
 * transactional mode when the record was inserted, before the handler ran. {@code null}
 * unless completed, and if an instance of an older version recorded the completion
 * @param expiresAt when the key may be forgotten
 * @param failure why the last attempt failed, if it did
 * @since 0.1.0
 */
public record IdempotencyRecord(IdempotencyKey key, State state, int fence, int attempt, @Nullable Instant claimedUntil,
		Instant createdAt, @Nullable Instant completedAt, Instant expiresAt, @Nullable Failure failure) {

	/**
	 * The states of a key that a store knows.
	 */
	public enum State {

		/**
		 * A claim has been made and not been settled; the claim may have run out.
		 */
		IN_PROGRESS,

		/**
		 * The handler has completed: every further delivery is a duplicate.
		 */
		COMPLETED,

		/**
		 * The handler has failed: the key may be claimed at once.
		 */
		FAILED

	}

}
