package dev.idempotency.listener;

import java.util.concurrent.atomic.AtomicBoolean;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import dev.idempotency.OperationNotAcknowledgedException;

/**
 * Refuses that a method of transactional mode returns without acknowledging its records:
 * effect and record commit when it returns, so a restart would skip what the method has
 * not acknowledged. Warns once.
 */
final class AcknowledgmentCheck {

	private static final Log logger = LogFactory.getLog(AcknowledgmentCheck.class);

	private static final String ACTION = ". Acknowledge or nack the record in the method, or use leased mode";

	private final String listener;

	private final AtomicBoolean warned = new AtomicBoolean();

	AcknowledgmentCheck(String listener) {
		this.listener = listener;
	}

	OperationNotAcknowledgedException failure(Object subject) {
		String what = "returned without acknowledging a record, so its transaction was rolled back and the record is "
				+ "redelivered: " + subject + ACTION;
		if (this.warned.compareAndSet(false, true)) {
			logger.warn("The idempotent listener " + this.listener + " " + what);
		}
		return new OperationNotAcknowledgedException("The listener " + what);
	}

}
