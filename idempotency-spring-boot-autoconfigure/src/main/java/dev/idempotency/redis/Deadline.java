package dev.idempotency.redis;

import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The latest end of a call.
 *
 * @param nanos the time, in {@link System#nanoTime()}
 */
record Deadline(long nanos) {

	static Deadline after(Duration timeout) {
		return new Deadline(System.nanoTime() + timeout.toNanos());
	}

	// An interrupt does not end the wait, which is short. Otherwise a handler that
	// leaves its thread interrupted would lose its completion.
	<T> T await(Future<T> future) throws ExecutionException, TimeoutException {
		boolean interrupted = false;
		try {
			while (true) {
				try {
					return future.get(Math.max(0, this.nanos - System.nanoTime()), TimeUnit.NANOSECONDS);
				}
				catch (InterruptedException ex) {
					interrupted = true;
				}
			}
		}
		finally {
			if (interrupted) {
				Thread.currentThread().interrupt();
			}
		}
	}

}
