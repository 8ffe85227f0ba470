package dev.idempotency.template;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

import org.springframework.scheduling.concurrent.CustomizableThreadFactory;

/**
 * Creates the daemon threads of the engine, and pools whose idle threads end.
 */
final class Threads {

	private static final long IDLE_SECONDS = 10;

	private Threads() {
	}

	static ThreadFactory named(String name) {
		CustomizableThreadFactory threads = new CustomizableThreadFactory("idempotency-" + name + "-");
		threads.setDaemon(true);
		return threads;
	}

	static ThreadPoolExecutor pool(ThreadFactory threads, int size, int capacity) {
		ThreadPoolExecutor pool = new ThreadPoolExecutor(size, size, IDLE_SECONDS, TimeUnit.SECONDS,
				new LinkedBlockingQueue<>(capacity), threads);
		pool.allowCoreThreadTimeOut(true);
		return pool;
	}

	// Create a pool that starts a thread for each task that no idle thread can run.
	static ThreadPoolExecutor unboundedPool(ThreadFactory threads) {
		return new ThreadPoolExecutor(0, Integer.MAX_VALUE, IDLE_SECONDS, TimeUnit.SECONDS, new SynchronousQueue<>(),
				threads);
	}

}
