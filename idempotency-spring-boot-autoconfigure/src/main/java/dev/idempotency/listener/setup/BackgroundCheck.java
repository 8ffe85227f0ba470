package dev.idempotency.listener.setup;

import org.jspecify.annotations.Nullable;
import org.springframework.context.SmartLifecycle;

/**
 * A check that runs once on a thread of its own after all containers have started, so
 * that a slow store or broker does not delay the start.
 */
abstract class BackgroundCheck implements SmartLifecycle {

	private final String threadName;

	private @Nullable Thread thread;

	private volatile boolean running;

	BackgroundCheck(String threadName) {
		this.threadName = threadName;
	}

	abstract @Nullable Runnable prepare();

	@Override
	public final void start() {
		this.running = true;
		runInBackground();
	}

	final synchronized void runInBackground() {
		Runnable check = (this.thread == null || !this.thread.isAlive()) ? prepare() : null;
		if (check != null) {
			this.thread = new Thread(check, this.threadName);
			this.thread.setDaemon(true);
			this.thread.start();
		}
	}

	@Override
	public final synchronized void stop() {
		this.running = false;
		if (this.thread != null) {
			this.thread.interrupt();
		}
	}

	@Override
	public final boolean isRunning() {
		return this.running;
	}

}
