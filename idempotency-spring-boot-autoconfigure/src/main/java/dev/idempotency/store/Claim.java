package dev.idempotency.store;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * What a store answers to the request for a key.
 *
 * @since 0.1.0
 */
public sealed interface Claim {

	/**
	 * The key is the caller's: the handler may run.
	 *
	 * @param fence the fencing token, larger than that of every earlier claim of the key
	 * that the store remembers
	 * @param attempt how often the operation has been started, this time included
	 */
	record Acquired(int fence, int attempt) implements Claim {

	}

	/**
	 * The operation has completed within its retention.
	 *
	 * @param result the stored result, {@code null} if there is none
	 */
	record Completed(byte @Nullable [] result) implements Claim {

	}

	/**
	 * Somebody else runs the operation.
	 *
	 * @param retryAfter how long that claim still lives, if nobody renews it
	 */
	record InProgress(Duration retryAfter) implements Claim {

	}

	/**
	 * The key is known, with another fingerprint.
	 */
	record Mismatch() implements Claim {

	}

}
