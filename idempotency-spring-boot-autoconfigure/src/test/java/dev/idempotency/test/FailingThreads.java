package dev.idempotency.test;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Threads of which the first cannot be started, as in a system that has run out of
 * threads.
 */
public final class FailingThreads implements ThreadFactory {

	private final AtomicInteger left;

	public FailingThreads(int failures) {
		this.left = new AtomicInteger(failures);
	}

	@Override
	public Thread newThread(Runnable task) {
		Thread thread = (this.left.getAndDecrement() > 0) ? new FailingThread() : new Thread(task);
		thread.setDaemon(true);
		return thread;
	}

	private static final class FailingThread extends Thread {

		@Override
		public void start() {
			// An OutOfMemoryError would end the whole
			// run of the tests if a test let it pass.
			throw new InternalError("unable to create native thread, as it were");
		}

	}

}
