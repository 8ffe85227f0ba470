package dev.idempotency.outbox;

import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/**
 * Tells every {@link OutboxListener}; what one of them throws is logged and ignored.
 */
final class OutboxListeners implements OutboxListener {

	private static final Log logger = LogFactory.getLog(OutboxListeners.class);

	private final List<OutboxListener> listeners;

	OutboxListeners(List<OutboxListener> listeners) {
		this.listeners = List.copyOf(listeners);
	}

	@Override
	public void attempted(OutboxRow row, Outcome outcome, Duration duration) {
		tell((listener) -> listener.attempted(row, outcome, duration));
	}

	@Override
	public void observed(OutboxStatus status) {
		tell((listener) -> listener.observed(status));
	}

	private void tell(Consumer<OutboxListener> call) {
		for (OutboxListener listener : this.listeners) {
			try {
				call.accept(listener);
			}
			catch (RuntimeException ex) {
				logger.warn("An outbox listener failed: " + listener, ex);
			}
		}
	}

}
