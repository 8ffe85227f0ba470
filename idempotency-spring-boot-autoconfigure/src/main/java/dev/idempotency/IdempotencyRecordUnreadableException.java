package dev.idempotency;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * What the store keeps under the key is not a record of this library, so nobody can tell
 * whether the operation has completed: it is neither run nor skipped until somebody has
 * removed it. Not an outage: the store answers, and other keys are served.
 *
 * @since 0.1.0
 */
public final class IdempotencyRecordUnreadableException extends OperationBlockedException {

	private static final Duration RETRY_AFTER = Duration.ofSeconds(5);

	public IdempotencyRecordUnreadableException(String message, @Nullable Throwable cause) {
		super(message, RETRY_AFTER, cause);
	}

}
