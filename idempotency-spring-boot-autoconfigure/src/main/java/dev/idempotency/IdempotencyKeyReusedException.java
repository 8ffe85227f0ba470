package dev.idempotency;

/**
 * The idempotency key is known with other content.
 *
 * @since 0.1.0
 */
public final class IdempotencyKeyReusedException extends OperationRejectedException {

	public IdempotencyKeyReusedException(String message) {
		super(message, null);
	}

}
