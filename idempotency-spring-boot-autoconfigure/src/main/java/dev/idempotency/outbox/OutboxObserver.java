package dev.idempotency.outbox;

import java.time.Duration;
import java.util.List;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/**
 * Looks at an outbox now and then, and tells the {@link OutboxListener} what is in it. It
 * does so beside the relay, and also where there is none: that messages wait has to be
 * seen above all when nobody publishes them.
 *
 * @since 0.1.0
 */
public final class OutboxObserver extends LoopLifecycle {

	private static final Duration INTERVAL = Duration.ofSeconds(5);

	/**
	 * Create an observer.
	 * @param store the outbox
	 * @param listeners who is told
	 */
	public OutboxObserver(OutboxStore store, List<OutboxListener> listeners) {
		super("idempotency-outbox-observer", new Observing(store, new OutboxListeners(listeners))::observe, GRACE);
	}

	/**
	 * A look after the other.
	 */
	private static final class Observing {

		private static final Log logger = LogFactory.getLog(OutboxObserver.class);

		private final OutboxStore store;

		private final OutboxListener listener;

		private boolean failed;

		Observing(OutboxStore store, OutboxListener listener) {
			this.store = store;
			this.listener = listener;
		}

		Duration observe() {
			try {
				this.listener.observed(this.store.status());
				this.failed = false;
			}
			catch (RuntimeException ex) {
				String what = "The outbox '" + this.store.table() + "' cannot be looked at, and its meters stand still";
				if (this.failed) {
					logger.debug(what, ex);
				}
				else {
					logger.warn(what, ex);
				}
				this.failed = true;
			}
			return INTERVAL;
		}

	}

}
