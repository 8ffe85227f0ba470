package dev.idempotency.listener;

/**
 * Leaves a method whose delivery is blocked; the listener of the container throws the
 * reason. An error, because the adapter in between hands each exception to the
 * {@code KafkaListenerErrorHandler} of the application, and sends as a reply what that
 * returns.
 */
@SuppressWarnings("serial")
final class BlockedSignal extends Error {

	BlockedSignal(RuntimeException reason) {
		super(reason.getMessage(), reason, false, false);
	}

}
