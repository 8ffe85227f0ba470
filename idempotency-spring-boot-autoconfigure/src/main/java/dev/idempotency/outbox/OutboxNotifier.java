package dev.idempotency.outbox;

import java.time.Duration;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/**
 * Tells the relays of other instances of messages, where this instance has no relay, when
 * it is woken. It does so on a thread of its own and once for many commits: a
 * notification by each transaction itself would make the database commit them one after
 * the other.
 *
 * @since 0.1.0
 */
public final class OutboxNotifier extends LoopLifecycle {

	private static final Log logger = LogFactory.getLog(OutboxNotifier.class);

	private static final Duration UNTIL_WOKEN = Duration.ofDays(1);

	/**
	 * Create a notifier.
	 * @param store the outbox
	 */
	public OutboxNotifier(OutboxStore store) {
		super("idempotency-outbox-notifier", () -> tell(store), GRACE);
	}

	private static Duration tell(OutboxStore store) {
		try {
			store.notifyRelays();
		}
		catch (RuntimeException ex) {
			// They look by themselves, too.
			logger.debug("Other relays of the outbox '" + store.table() + "' could not be told of messages", ex);
		}
		return UNTIL_WOKEN;
	}

}
