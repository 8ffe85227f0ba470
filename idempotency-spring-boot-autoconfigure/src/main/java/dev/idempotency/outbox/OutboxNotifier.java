package dev.idempotency.outbox;

import java.time.Duration;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.context.SmartLifecycle;

/**
 * Tells the relays of other instances of messages, where this instance has no relay. It
 * does so on a thread of its own and once for many commits: a notification by each
 * transaction itself would make the database commit them one after the other.
 *
 * @since 0.1.0
 */
public final class OutboxNotifier implements SmartLifecycle {

	private static final Log logger = LogFactory.getLog(OutboxNotifier.class);

	private static final Duration UNTIL_WOKEN = Duration.ofDays(1);

	private static final Duration GRACE = Duration.ofSeconds(2);

	private final Loop loop;

	private final OutboxStore store;

	/**
	 * Create a notifier.
	 * @param store the outbox
	 */
	public OutboxNotifier(OutboxStore store) {
		this.store = store;
		this.loop = new Loop("idempotency-outbox-notifier", this::tell);
	}

	/**
	 * Messages have been committed.
	 */
	public void wake() {
		this.loop.wake();
	}

	private Duration tell() {
		try {
			this.store.notifyRelays();
		}
		catch (RuntimeException ex) {
			// They look by themselves, too.
			logger.debug("Other relays of the outbox '" + this.store.table() + "' could not be told of messages", ex);
		}
		return UNTIL_WOKEN;
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

	@Override
	public int getPhase() {
		return OutboxRelay.PHASE;
	}

}
