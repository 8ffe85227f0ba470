package dev.idempotency;

/**
 * The operation has completed, but its stored result cannot be read into the type that
 * the handler declares.
 *
 * @since 0.1.0
 */
public final class StoredResultUnreadableException extends OperationRejectedException {

	/**
	 * Create an exception.
	 * @param message what happened, where, and what to do
	 * @param reason why the result cannot be read; its type and stack trace are kept but
	 * not its text, which may quote the result
	 */
	public StoredResultUnreadableException(String message, Throwable reason) {
		super(message, unquoted(reason));
	}

}
