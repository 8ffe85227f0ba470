package dev.idempotency;

import java.time.Duration;

/**
 * In transactional mode, the listener returned without acknowledging its record. What it
 * wrote is rolled back, and the record is redelivered: otherwise its key would be
 * completed, and after a restart the record would be skipped.
 *
 * @since 0.1.0
 */
public final class OperationNotAcknowledgedException extends OperationBlockedException {

	private static final Duration RETRY_AFTER = Duration.ofSeconds(5);

	public OperationNotAcknowledgedException(String message) {
		super(message, RETRY_AFTER, null);
	}

}
