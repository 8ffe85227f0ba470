package dev.idempotency.template;

import java.time.Duration;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.scheduling.concurrent.CustomizableThreadFactory;

/**
 * Does something again and again on one thread, as often as the most impatient has asked
 * for. The thread is started by the first who asks.
 */
final class Looks {

	private static final Log logger = LogFactory.getLog(Looks.class);

	private static final Duration SHORTEST = Duration.ofMillis(5);

	private static final Duration LONGEST = Duration.ofSeconds(1);

	private final Runnable task;

	private final ScheduledThreadPoolExecutor executor;

	private volatile @Nullable Duration period;

	private @Nullable ScheduledFuture<?> scheduled;

	Looks(Runnable task, ThreadFactory threads) {
		this.task = task;
		this.executor = new ScheduledThreadPoolExecutor(1, threads);
	}

	static ThreadFactory threads(String name) {
		CustomizableThreadFactory threads = new CustomizableThreadFactory("idempotency-" + name + "-");
		threads.setDaemon(true);
		return threads;
	}

	/**
	 * Make sure that there are looks often enough.
	 * @param wanted how often; at most a second, and at least a few milliseconds, are
	 * taken
	 */
	void every(Duration wanted) {
		Duration bounded = (wanted.compareTo(LONGEST) > 0) ? LONGEST : wanted;
		bounded = (bounded.compareTo(SHORTEST) < 0) ? SHORTEST : bounded;
		Duration present = this.period;
		if (present == null || bounded.compareTo(present) < 0) {
			schedule(bounded);
		}
	}

	/**
	 * Look at once, on the thread of the looks, if {@link #every} has started it.
	 */
	void now() {
		if (this.period == null) {
			return;
		}
		try {
			this.executor.execute(this::look);
		}
		catch (RejectedExecutionException ex) {
			logger.debug("Closed already", ex);
		}
	}

	private synchronized void schedule(Duration wanted) {
		if (this.period != null && wanted.compareTo(this.period) >= 0) {
			return;
		}
		try {
			// If it cannot be started, nothing is left in the queue, and the next who
			// asks tries again.
			this.executor.prestartCoreThread();
			ScheduledFuture<?> next = this.executor.scheduleWithFixedDelay(this::look, wanted.toNanos(),
					wanted.toNanos(), TimeUnit.NANOSECONDS);
			if (this.scheduled != null) {
				this.scheduled.cancel(false);
			}
			this.scheduled = next;
			this.period = wanted;
		}
		catch (RejectedExecutionException ex) {
			logger.debug("Closed already", ex);
		}
	}

	// Whatever it throws, also an error: else there would be no further look.
	private void look() {
		try {
			this.task.run();
		}
		catch (Throwable ex) {
			logger.error("The leases of running handlers, or what the store did not take, could not be looked after; "
					+ "the next try comes in " + this.period, ex);
		}
	}

	void close() {
		this.executor.shutdownNow();
	}

}
