package dev.idempotency;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * The operation can neither be run nor be skipped now: the record must be delivered
 * again. Never a failure of the handler; it uses up no retries.
 *
 * @since 0.1.0
 */
public abstract sealed class OperationBlockedException extends RuntimeException
		permits OperationInProgressException, IdempotencyStoreUnavailableException, IdempotencyStoreRefusedException,
		IdempotencyRecordUnreadableException, OperationNotAcknowledgedException, OwnershipLostException {

	// Causes may form a ring.
	private static final int MAX_DEPTH = 50;

	private final Duration retryAfter;

	OperationBlockedException(String message, Duration retryAfter, @Nullable Throwable cause) {
		super(message, cause);
		this.retryAfter = retryAfter;
	}

	/**
	 * Find this condition in what somebody else has thrown because of it.
	 * @param error the error
	 * @return the condition, {@code null} if it is not among the causes
	 */
	public static @Nullable OperationBlockedException in(@Nullable Throwable error) {
		Throwable cause = error;
		for (int depth = 0; cause != null && depth < MAX_DEPTH; depth++, cause = cause.getCause()) {
			if (cause instanceof OperationBlockedException blocked) {
				return blocked;
			}
		}
		return null;
	}

	/**
	 * When a new delivery is worthwhile at the latest.
	 * @return the time to wait
	 */
	public Duration retryAfter() {
		return this.retryAfter;
	}

}
