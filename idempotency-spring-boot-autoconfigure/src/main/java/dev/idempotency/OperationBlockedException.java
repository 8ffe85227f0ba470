package dev.idempotency;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * The operation can neither be run nor be skipped now: the record must be delivered
 * again. Never a failure of the handler; it uses up no retries.
 *
 * @since 0.1.0
 */
public abstract sealed class OperationBlockedException extends RuntimeException permits OperationInProgressException,
		IdempotencyStoreUnavailableException, IdempotencyRecordUnreadableException, OwnershipLostException {

	private final Duration retryAfter;

	OperationBlockedException(String message, Duration retryAfter, @Nullable Throwable cause) {
		super(message, cause);
		this.retryAfter = retryAfter;
	}

	/**
	 * When a new delivery is worthwhile at the latest.
	 * @return the time to wait
	 */
	public Duration retryAfter() {
		return this.retryAfter;
	}

}
