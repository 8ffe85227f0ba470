package dev.idempotency.outbox;

import java.time.Duration;
import java.util.List;

import org.springframework.context.SmartLifecycle;

/**
 * Publishes the messages of an outbox while the application runs. Any number of instances
 * may do so at once. It ends when the listeners of the application have, and waits for
 * the messages that are on their way.
 *
 * @since 0.1.0
 */
public final class OutboxRelay implements SmartLifecycle {

	// Listener containers stop at Integer.MAX_VALUE - 100.
	static final int PHASE = Integer.MAX_VALUE / 2;

	private static final Duration GRACE = Duration.ofSeconds(2);

	private final Loop relaying;

	private final OutboxObserver observer;

	private final RelaySettings settings;

	private volatile boolean running;

	/**
	 * Create a relay.
	 * @param store where the messages are
	 * @param publisher sends them
	 * @param settings how it works
	 * @param listeners who is told
	 */
	public OutboxRelay(OutboxStore store, OutboxPublisher publisher, RelaySettings settings,
			List<OutboxListener> listeners) {
		this.settings = settings;
		this.relaying = new Loop("idempotency-outbox-relay",
				new Relaying(store, publisher, settings, new OutboxListeners(listeners))::round);
		this.observer = new OutboxObserver(store, listeners);
	}

	/**
	 * Look at the outbox now: something has been committed.
	 */
	public void wake() {
		this.relaying.wake();
	}

	@Override
	public void start() {
		this.running = true;
		this.relaying.start();
		this.observer.start();
	}

	@Override
	public void stop() {
		this.running = false;
		this.relaying.stop(this.settings.sendTimeout().plus(GRACE));
		this.observer.stop();
	}

	@Override
	public boolean isRunning() {
		return this.running;
	}

	@Override
	public int getPhase() {
		return PHASE;
	}

}
