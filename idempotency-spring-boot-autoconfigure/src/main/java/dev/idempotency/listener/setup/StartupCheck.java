package dev.idempotency.listener.setup;

import org.springframework.context.SmartLifecycle;

/**
 * A check that runs once when the application starts.
 */
public abstract class StartupCheck implements SmartLifecycle {

	private final int phase;

	private volatile boolean running;

	protected StartupCheck(int phase) {
		this.phase = phase;
	}

	protected abstract void check();

	@Override
	public void start() {
		check();
		this.running = true;
	}

	@Override
	public void stop() {
		this.running = false;
	}

	@Override
	public boolean isRunning() {
		return this.running;
	}

	@Override
	public int getPhase() {
		return this.phase;
	}

}
