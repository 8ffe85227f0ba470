package dev.idempotency.outbox;

import java.time.Duration;
import java.util.List;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/**
 * Reads the status of an outbox every five seconds and reports it to each
 * {@link OutboxListener}. It is independent of the relay, so that a backlog is visible
 * also when no relay runs.
 *
 * @since 0.1.0
 */
public final class OutboxObserver extends OutboxLoop {

	private static final Log logger = LogFactory.getLog(OutboxObserver.class);

	private static final Duration INTERVAL = Duration.ofSeconds(5);

	private final OutboxStore store;

	private final OutboxListener listener;

	private boolean failing;

	/**
	 * Create an observer.
	 * @param store the outbox
	 * @param listeners the listeners to notify
	 */
	public OutboxObserver(OutboxStore store, List<OutboxListener> listeners) {
		super("idempotency-outbox-observer", GRACE);
		this.store = store;
		this.listener = new OutboxListeners(listeners);
	}

	@Override
	Duration step() {
		try {
			this.listener.observed(this.store.status());
			this.failing = false;
		}
		catch (RuntimeException ex) {
			String message = "The status of the outbox '" + this.store.table()
					+ "' cannot be read; its gauges keep their last values";
			if (this.failing) {
				logger.debug(message, ex);
			}
			else {
				logger.warn(message, ex);
			}
			this.failing = true;
		}
		return INTERVAL;
	}

}
