package dev.idempotency.outbox;

import java.util.List;

/**
 * Publishes the messages of an outbox while the application runs, whenever it is woken
 * and now and then. Any number of instances may do so at once. When it is stopped it
 * waits for the messages that are on their way.
 *
 * @since 0.1.0
 */
public final class OutboxRelay extends LoopLifecycle {

	/**
	 * Create a relay.
	 * @param store where the messages are
	 * @param publisher sends them
	 * @param settings how it works
	 * @param listeners who is told
	 */
	public OutboxRelay(OutboxStore store, OutboxPublisher publisher, RelaySettings settings,
			List<OutboxListener> listeners) {
		super("idempotency-outbox-relay",
				new Relaying(store, publisher, settings, new OutboxListeners(listeners))::round,
				settings.sendTimeout().plus(GRACE));
	}

}
