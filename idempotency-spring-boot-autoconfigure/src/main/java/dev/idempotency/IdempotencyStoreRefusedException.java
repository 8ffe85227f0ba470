package dev.idempotency;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * The store answered, and refused the call for a reason that concerns this operation or
 * the rights of the application: a missing privilege or table, another isolation than it
 * needs, a value that it cannot keep, a programming error. The call has changed nothing.
 * The record is redelivered until the reason is gone. Not an outage: the circuit breaker
 * does not count it, other operations go on, and
 * {@code idempotency.store.on-unavailable=process} does not apply.
 *
 * @since 0.1.0
 */
public final class IdempotencyStoreRefusedException extends OperationBlockedException {

	private static final Duration RETRY_AFTER = Duration.ofSeconds(5);

	private final @Nullable String code;

	public IdempotencyStoreRefusedException(String message, @Nullable Throwable cause) {
		this(message, null, cause);
	}

	/**
	 * Create the exception for a refusal that has a code.
	 * @param message what was refused and what to do about it, without any value
	 * @param code the code of the store, as an SQL state
	 * @param cause what the store reported
	 */
	public IdempotencyStoreRefusedException(String message, @Nullable String code, @Nullable Throwable cause) {
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
