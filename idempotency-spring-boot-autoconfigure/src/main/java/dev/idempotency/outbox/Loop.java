package dev.idempotency.outbox;

import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Repeats a step on a thread of its own, after the pause that the step asks for or when
 * it is woken.
 */
final class Loop {

	private static final Log logger = LogFactory.getLog(Loop.class);

	private static final Duration AFTER_ERROR = Duration.ofSeconds(5);

	private final String name;

	private final Supplier<Duration> step;

	private final Runnable last;

	private final Semaphore wakeUps = new Semaphore(0);

	private volatile boolean running;

	private volatile @Nullable Thread thread;

	/**
	 * Create a loop.
	 * @param name the name of its thread
	 * @param step what is repeated; returns the pause after it
	 * @param last run once when the loop is stopped, after its current step
	 */
	Loop(String name, Supplier<Duration> step, Runnable last) {
		this.name = name;
		this.step = step;
		this.last = last;
	}

	void start() {
		this.running = true;
		Thread next = new Thread(this::run, this.name);
		next.setDaemon(true);
		this.thread = next;
		next.start();
	}

	/**
	 * Do not pause, or not again before the next step has been made.
	 */
	void wake() {
		if (this.wakeUps.availablePermits() == 0) {
			this.wakeUps.release();
		}
	}

	boolean isRunning() {
		return this.running;
	}

	/**
	 * Let the current step be the last one, and end the loop in order.
	 * @param patience how long to wait for its end before it is interrupted
	 */
	void stop(Duration patience) {
		this.running = false;
		wake();
		Thread last = this.thread;
		if (last == null) {
			return;
		}
		try {
			last.join(patience.toMillis());
			if (last.isAlive()) {
				logger.warn("'" + this.name + "' did not end within " + patience
						+ " and is interrupted; what it has not " + "recorded is done again");
				last.interrupt();
				last.join(TimeUnit.SECONDS.toMillis(1));
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	private void run() {
		// One that did not end in time must not go on beside its successor.
		while (this.running && this.thread == Thread.currentThread()) {
			// Whoever wakes it from here on has something that this step may miss.
			this.wakeUps.drainPermits();
			Duration pause = next();
			try {
				if (this.running && pause.compareTo(Duration.ZERO) > 0) {
					this.wakeUps.tryAcquire(pause.toNanos(), TimeUnit.NANOSECONDS);
				}
			}
			catch (InterruptedException ex) {
				logger.debug("'" + this.name + "' was interrupted; it ends when it is stopped", ex);
			}
		}
		if (this.thread == Thread.currentThread()) {
			end();
		}
	}

	private void end() {
		try {
			this.last.run();
		}
		catch (Throwable ex) {
			logger.error("'" + this.name + "' failed when it was stopped; it goes on with the next start", ex);
		}
	}

	private Duration next() {
		try {
			return this.step.get();
		}
		catch (Throwable ex) {
			logger.error("'" + this.name + "' failed; it goes on in " + AFTER_ERROR, ex);
			return AFTER_ERROR;
		}
	}

}
