package dev.idempotency;

/**
 * The fingerprint of a record cannot be computed. The record is rejected, because its
 * content cannot be compared with what is known under its key.
 *
 * @since 0.1.0
 */
public final class IdempotencyFingerprintException extends OperationRejectedException {

	/**
	 * Create an exception.
	 * @param message what happened, where, and what to do
	 * @param reason why the fingerprint cannot be computed; its type and stack trace are
	 * kept but not its text, which may quote the payload
	 */
	public IdempotencyFingerprintException(String message, RuntimeException reason) {
		super(message, unquoted(reason));
	}

}
