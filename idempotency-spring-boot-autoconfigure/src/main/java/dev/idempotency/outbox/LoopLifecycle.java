package dev.idempotency.outbox;

import java.time.Duration;
import java.util.function.Supplier;

import org.springframework.context.SmartLifecycle;

/**
 * Work that a thread of its own repeats while the application runs. It ends when the
 * listeners of the application have, and is given a while to do so.
 *
 * @since 0.1.0
 */
public abstract class LoopLifecycle implements SmartLifecycle {

	static final Duration GRACE = Duration.ofSeconds(2);

	// Listener containers stop at Integer.MAX_VALUE - 100.
	private static final int PHASE = Integer.MAX_VALUE / 2;

	private final Loop loop;

	private final Duration patience;

	LoopLifecycle(String thread, Supplier<Duration> step, Duration patience) {
		this(thread, step, () -> {
		}, patience);
	}

	LoopLifecycle(String thread, Supplier<Duration> step, Runnable last, Duration patience) {
		this.loop = new Loop(thread, step, last);
		this.patience = patience;
	}

	/**
	 * Do the work now.
	 */
	public void wake() {
		this.loop.wake();
	}

	@Override
	public void start() {
		this.loop.start();
	}

	@Override
	public void stop() {
		this.loop.stop(this.patience);
	}

	@Override
	public boolean isRunning() {
		return this.loop.isRunning();
	}

	@Override
	public int getPhase() {
		return PHASE;
	}

}
