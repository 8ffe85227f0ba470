package dev.idempotency;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * The handler ran longer than its claim lived, and somebody else has the key now: what
 * this execution reports is not recorded.
 *
 * @since 0.1.0
 */
public final class OwnershipLostException extends OperationBlockedException {

	private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

	public OwnershipLostException(String message, @Nullable Throwable cause) {
		super(message, RETRY_AFTER, cause);
	}

}
