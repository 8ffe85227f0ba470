package dev.idempotency;

import org.jspecify.annotations.Nullable;

/**
 * The record can never be processed as it is: delivering it again does not help.
 *
 * @since 0.1.0
 */
public abstract sealed class OperationRejectedException extends RuntimeException
		permits IdempotencyFingerprintException, IdempotencyKeyMissingException, IdempotencyKeyReusedException,
		StoredResultUnreadableException {

	OperationRejectedException(String message, @Nullable Throwable cause) {
		super(message, cause);
	}

	/**
	 * Replace an error whose text may quote the payload.
	 * @param error the error
	 * @return an exception with its type and stack trace; with its text only if that is
	 * known to quote nothing
	 */
	static Throwable unquoted(Throwable error) {
		IllegalStateException replacement = new IllegalStateException(
				(error instanceof IdempotencyConfigurationException) ? error.getMessage() : error.getClass().getName());
		replacement.setStackTrace(error.getStackTrace());
		return replacement;
	}

}
