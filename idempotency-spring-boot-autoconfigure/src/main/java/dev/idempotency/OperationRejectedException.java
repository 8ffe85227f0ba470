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

}
