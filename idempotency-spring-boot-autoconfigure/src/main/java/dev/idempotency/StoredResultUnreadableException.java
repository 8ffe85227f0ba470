package dev.idempotency;

/**
 * The operation has completed, but its stored result cannot be read into the type that
 * the handler declares.
 *
 * @since 0.1.0
 */
public final class StoredResultUnreadableException extends OperationRejectedException {

	public StoredResultUnreadableException(String message, Throwable cause) {
		super(message, cause);
	}

}
