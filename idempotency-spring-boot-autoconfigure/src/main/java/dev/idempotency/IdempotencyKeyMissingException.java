package dev.idempotency;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when an operation of the template has no usable idempotency key, or when a
 * record has none and {@link MissingKeyPolicy#REJECT} applies.
 *
 * @since 0.1.0
 */
public final class IdempotencyKeyMissingException extends OperationRejectedException {

	public IdempotencyKeyMissingException(String message, @Nullable Throwable cause) {
		super(message, cause);
	}

}
