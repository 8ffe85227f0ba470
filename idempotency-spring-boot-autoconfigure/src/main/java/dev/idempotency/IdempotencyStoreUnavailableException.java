package dev.idempotency;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * The store did not answer, or refused the statement. Also thrown by an outbox whose
 * database or schema registry does not answer.
 *
 * @since 0.1.0
 */
public final class IdempotencyStoreUnavailableException extends OperationBlockedException {

	private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

	public IdempotencyStoreUnavailableException(String message, @Nullable Throwable cause) {
		super(message, RETRY_AFTER, cause);
	}

}
