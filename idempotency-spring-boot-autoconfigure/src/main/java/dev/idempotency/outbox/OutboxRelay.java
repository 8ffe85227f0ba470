package dev.idempotency.outbox;

import java.util.List;

/**
 * Publishes the messages of an outbox while the application runs, whenever it is woken
 * and now and then. Any number of instances may do so at once. When it is stopped it goes
 * on with what has been sent until then, for {@link RelaySettings#stopTimeout()} at most,
 * and waits for the broker's answers to what it has given to it.
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
		this(new Relaying(store, publisher, settings, new OutboxListeners(listeners)), settings);
	}

	private OutboxRelay(Relaying relaying, RelaySettings settings) {
		super("idempotency-outbox-relay", relaying::round, relaying::drain,
				settings.stopTimeout().plus(settings.sendTimeout()).plus(GRACE));
	}

}
