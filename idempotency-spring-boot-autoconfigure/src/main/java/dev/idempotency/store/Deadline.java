/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.Internal;

/**
 * The latest end of a call to a store.
 *
 * @param nanos the time, in {@link System#nanoTime()}
 * @since 0.1.0
 */
@Internal
public record Deadline(long nanos) {

	private static final Duration MIN_TIMEOUT = Duration.ofMillis(100);

	/**
	 * Check the timeout of a store.
	 * @param timeout the timeout of a call
	 * @throws IdempotencyConfigurationException if the timeout is shorter than 100 ms
	 */
	public static void requireTimeout(Duration timeout) {
		IdempotencyConfigurationException.check(timeout.compareTo(MIN_TIMEOUT) >= 0,
				"'idempotency.store.timeout' is " + timeout + ".",
				"Set 'idempotency.store.timeout' to " + MIN_TIMEOUT + " or more.");
	}

	/**
	 * Begin a call.
	 * @param timeout the timeout of the call
	 * @return the end of the call
	 */
	public static Deadline after(Duration timeout) {
		return new Deadline(System.nanoTime() + timeout.toNanos());
	}

	/**
	 * Return the middle of the time that is left. The last step of a call that begins
	 * until then ends in time, too.
	 * @return the middle
	 */
	public Deadline middle() {
		long now = System.nanoTime();
		return new Deadline(now + (this.nanos - now) / 2);
	}

	/**
	 * Whether the call must have ended.
	 * @return whether the time is over
	 */
	public boolean isOver() {
		return System.nanoTime() - this.nanos > 0;
	}

	/**
	 * Wait for a result. An interrupt does not end the wait, which is short. Otherwise a
	 * handler that leaves its thread interrupted would lose its completion.
	 * @param future the result
	 * @param <T> the type of the result
	 * @return the result
	 * @throws ExecutionException if the result is an exception
	 * @throws TimeoutException if there is no result in time
	 */
	public <T> T await(Future<T> future) throws ExecutionException, TimeoutException {
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
