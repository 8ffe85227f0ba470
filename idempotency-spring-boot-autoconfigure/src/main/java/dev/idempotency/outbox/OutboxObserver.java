package dev.idempotency.outbox;

import java.time.Duration;
import java.util.List;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.context.Lifecycle;

/**
 * Looks at an outbox now and then, and tells the {@link OutboxListener} what is in it. It
 * does so beside the relay, and also where there is none: that messages wait has to be
 * seen above all when nobody publishes them.
 *
 * @since 0.1.0
 */
public final class OutboxObserver implements Lifecycle {

	private static final Log logger = LogFactory.getLog(OutboxObserver.class);

	private static final Duration INTERVAL = Duration.ofSeconds(5);

	private static final Duration GRACE = Duration.ofSeconds(2);

	private final Loop loop = new Loop("idempotency-outbox-observer", this::observe);

	private final OutboxStore store;

	private final OutboxListener listener;

	// Of the thread of the loop.
	private boolean failed;

	/**
	 * Create an observer.
	 * @param store the outbox
	 * @param listeners who is told
	 */
	public OutboxObserver(OutboxStore store, List<OutboxListener> listeners) {
		this.store = store;
		this.listener = new OutboxListeners(listeners);
	}

	private Duration observe() {
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

	@Override
	public void start() {
		this.loop.start();
	}

	@Override
	public void stop() {
		this.loop.stop(GRACE);
	}

	@Override
	public boolean isRunning() {
		return this.loop.isRunning();
	}

}
