package dev.idempotency.outbox;

import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/**
 * Notifies several {@link OutboxObserver listeners}. An exception of one of them is
 * logged and does not reach the relay or the other listeners.
 */
final class OutboxObservers implements OutboxObserver {

	private static final Log logger = LogFactory.getLog(OutboxObservers.class);

	private final List<OutboxObserver> listeners;

	OutboxObservers(List<OutboxObserver> listeners) {
		this.listeners = List.copyOf(listeners);
	}

	@Override
	public void attempted(OutboxRow row, PublishOutcome outcome, Duration duration) {
		notifyEach((listener) -> listener.attempted(row, outcome, duration));
	}

	@Override
	public void observed(OutboxStore.Status status) {
		notifyEach((listener) -> listener.observed(status));
	}

	private void notifyEach(Consumer<OutboxObserver> callback) {
		for (OutboxObserver listener : this.listeners) {
			try {
				callback.accept(listener);
			}
			catch (RuntimeException ex) {
				logger.warn("The outbox listener " + listener
						+ " threw an exception; the event was dropped. Fix the listener", ex);
			}
		}
	}

}
