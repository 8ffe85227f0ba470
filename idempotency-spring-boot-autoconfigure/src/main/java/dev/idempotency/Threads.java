package dev.idempotency;

import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

import org.springframework.scheduling.concurrent.CustomizableThreadFactory;

/**
 * Creates the daemon threads of this library, and pools whose idle threads end.
 *
 * @since 0.1.0
 */
@Internal
public final class Threads {

	private static final long IDLE_SECONDS = 10;

	private Threads() {
	}

	/**
	 * Return a factory that numbers its threads.
	 * @param name the name of the threads, after {@code idempotency-}
	 * @return the factory
	 */
	public static ThreadFactory named(String name) {
		CustomizableThreadFactory threads = new CustomizableThreadFactory("idempotency-" + name + "-");
		threads.setDaemon(true);
		return threads;
	}

	/**
	 * Create a thread without starting it.
	 * @param name the name of the thread
	 * @param task the task to run
	 * @return the thread
	 */
	public static Thread daemon(String name, Runnable task) {
		Thread thread = new Thread(task, name);
		thread.setDaemon(true);
		return thread;
	}

	/**
	 * Wait for the end of a thread. An interrupt ends the wait and stays set.
	 * @param thread the thread
	 * @param timeout the longest time to wait; no time if it is not positive
	 */
	public static void awaitEnd(Thread thread, Duration timeout) {
		try {
			if (timeout.toMillis() > 0) {
				thread.join(timeout.toMillis());
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	/**
	 * Create a scheduler with one thread.
	 * @param name the name of the thread, after {@code idempotency-}
	 * @return the scheduler
	 */
	public static ScheduledExecutorService scheduler(String name) {
		return Executors.newSingleThreadScheduledExecutor(named(name));
	}

	/**
	 * Create a pool of limited size.
	 * @param threads creates the threads
	 * @param size the number of threads
	 * @param capacity the number of waiting tasks
	 * @return the pool
	 */
	public static ThreadPoolExecutor pool(ThreadFactory threads, int size, int capacity) {
		ThreadPoolExecutor pool = new ThreadPoolExecutor(size, size, IDLE_SECONDS, TimeUnit.SECONDS,
				new LinkedBlockingQueue<>(capacity), threads);
		pool.allowCoreThreadTimeOut(true);
		return pool;
	}

	/**
	 * Create a pool that starts a thread for each task that no idle thread can run.
	 * @param threads creates the threads
	 * @return the pool
	 */
	public static ThreadPoolExecutor unboundedPool(ThreadFactory threads) {
		return new ThreadPoolExecutor(0, Integer.MAX_VALUE, IDLE_SECONDS, TimeUnit.SECONDS, new SynchronousQueue<>(),
				threads);
	}

}
