package dev.idempotency;

import java.time.Duration;

/**
 * Thrown when another consumer runs the operation.
 *
 * @since 0.1.0
 */
public final class OperationInProgressException extends OperationBlockedException {

	private final boolean owned;

	public OperationInProgressException(String message, Duration retryAfter) {
		this(message, retryAfter, false);
	}

	/**
	 * Create an exception.
	 * @param message the message
	 * @param retryAfter the time after which the record should be redelivered at the
	 * latest
	 * @param owned whether another owner holds the key of the operation
	 */
	public OperationInProgressException(String message, Duration retryAfter, boolean owned) {
		super(message, retryAfter, null);
		this.owned = owned;
	}

	/**
	 * Return whether another owner was found to hold the key of the operation, with a
	 * valid claim or in an open transaction. Otherwise, the database has ended the
	 * transaction for another reason, such as a deadlock.
	 * @return whether there is another owner
	 */
	public boolean isOwned() {
		return this.owned;
	}

}
