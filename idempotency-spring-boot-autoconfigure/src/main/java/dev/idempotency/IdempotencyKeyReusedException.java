package dev.idempotency;

/**
 * Thrown when the idempotency key of a record already stands for other content.
 *
 * @since 0.1.0
 */
public final class IdempotencyKeyReusedException extends OperationRejectedException {

	public IdempotencyKeyReusedException(String message) {
		super(message, null);
	}

}
