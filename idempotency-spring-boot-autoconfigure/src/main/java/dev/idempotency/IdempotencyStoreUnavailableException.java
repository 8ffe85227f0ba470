package dev.idempotency;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * The store does not answer anybody: it cannot be reached, it does not answer in time, it
 * lacks resources, or it lets nobody in. What it refuses for another reason is an
 * {@link IdempotencyStoreRefusedException}. Also thrown by an outbox whose database or
 * schema registry does not answer.
 *
 * @since 0.1.0
 */
public final class IdempotencyStoreUnavailableException extends OperationBlockedException {

	private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

	private final @Nullable String code;

	public IdempotencyStoreUnavailableException(String message, @Nullable Throwable cause) {
		this(message, null, cause);
	}

	/**
	 * Create the exception for an outage that has a code.
	 * @param message what happened, without any value
	 * @param code the code of the store, as an SQL state
	 * @param cause what the store or its client reported
	 */
	public IdempotencyStoreUnavailableException(String message, @Nullable String code, @Nullable Throwable cause) {
		super(message, RETRY_AFTER, cause);
		this.code = code;
	}

	/**
	 * The code with which the store names its reason.
	 * @return the code, as an SQL state, {@code null} if there is none
	 */
	public @Nullable String code() {
		return this.code;
	}

}
