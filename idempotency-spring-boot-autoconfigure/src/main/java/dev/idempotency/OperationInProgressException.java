package dev.idempotency;

import java.time.Duration;

/**
 * Thrown when another consumer runs the operation.
 *
 * @since 0.1.0
 */
public final class OperationInProgressException extends OperationBlockedException {

	/**
	 * Create an exception.
	 * @param message the message
	 * @param retryAfter the time after which the record should be redelivered at the
	 * latest
	 */
	public OperationInProgressException(String message, Duration retryAfter) {
		super(message, retryAfter, null);
	}

}
