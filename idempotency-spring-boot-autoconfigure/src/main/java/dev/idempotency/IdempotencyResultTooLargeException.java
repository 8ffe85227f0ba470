package dev.idempotency;

/**
 * Thrown when the result of an operation is larger than
 * {@code idempotency.result.maximum-size}. In transactional mode the transaction of the
 * handler has been rolled back. In leased mode the operation has completed, and its
 * duplicates are suppressed without a result.
 *
 * @since 0.1.0
 */
public final class IdempotencyResultTooLargeException extends OperationRejectedException {

	public IdempotencyResultTooLargeException(String message) {
		super(message, null);
	}

}
