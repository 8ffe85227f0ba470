package dev.idempotency.outbox;

/**
 * A row of the outbox that cannot be turned into a message, however often that is tried.
 * It quotes nothing of the row.
 *
 * @since 0.1.0
 */
public final class UndecodableMessageException extends RuntimeException {

	/**
	 * Create an exception.
	 * @param message what is wrong with which column, without its value
	 */
	public UndecodableMessageException(String message) {
		super(message);
	}

}
