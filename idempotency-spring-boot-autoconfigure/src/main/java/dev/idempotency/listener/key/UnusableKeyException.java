package dev.idempotency.listener.key;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when a record has no usable key. The message states the reason; the
 * {@link dev.idempotency.MissingKeyPolicy} is applied next.
 */
final class UnusableKeyException extends RuntimeException {

	UnusableKeyException(String reason, @Nullable Throwable cause) {
		super(reason, cause);
	}

}
