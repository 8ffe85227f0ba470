package dev.idempotency.listener;

/**
 * Carries the reason why a delivery is blocked from the method to the listener of the
 * container. An error, because the adapter in between hands each exception to the
 * {@code KafkaListenerErrorHandler} of the application, and sends as a reply what that
 * returns.
 */
@SuppressWarnings("serial")
final class BlockedSignal extends Error {

	private final RuntimeException reason;

	BlockedSignal(RuntimeException reason) {
		super(reason.getMessage(), reason, false, false);
		this.reason = reason;
	}

	RuntimeException reason() {
		return this.reason;
	}

}
