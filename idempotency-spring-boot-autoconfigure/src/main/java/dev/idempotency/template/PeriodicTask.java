/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

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

/**
 * Runs a task periodically on one thread, at the shortest interval requested so far. The
 * first request starts the thread.
 */
final class PeriodicTask implements AutoCloseable {

	private static final Log logger = LogFactory.getLog(PeriodicTask.class);

	private static final Duration SHORTEST = Duration.ofMillis(5);

	private static final Duration LONGEST = Duration.ofSeconds(1);

	private final Runnable task;

	private final ScheduledThreadPoolExecutor executor;

	private volatile @Nullable Duration interval;

	private @Nullable ScheduledFuture<?> scheduled;

	PeriodicTask(Runnable task, ThreadFactory threads) {
		this.task = task;
		this.executor = new ScheduledThreadPoolExecutor(1, threads);
	}

	void runEvery(Duration requested) {
		Duration limited = (requested.compareTo(LONGEST) > 0) ? LONGEST : requested;
		limited = (limited.compareTo(SHORTEST) < 0) ? SHORTEST : limited;
		Duration current = this.interval;
		if (current == null || limited.compareTo(current) < 0) {
			schedule(limited);
		}
	}

	void runNow() {
		if (this.interval == null) {
			return;
		}
		try {
			this.executor.execute(this::run);
		}
		catch (RejectedExecutionException ex) {
			logger.debug("A periodic task is closed and does not run any more", ex);
		}
	}

	private synchronized void schedule(Duration next) {
		if (this.interval != null && next.compareTo(this.interval) >= 0) {
			return;
		}
		try {
			// If the thread cannot be started, the queue
			// stays empty, and the next request tries again.
			this.executor.prestartCoreThread();
			ScheduledFuture<?> rescheduled = this.executor.scheduleWithFixedDelay(this::run, next.toNanos(),
					next.toNanos(), TimeUnit.NANOSECONDS);
			if (this.scheduled != null) {
				this.scheduled.cancel(false);
			}
			this.scheduled = rescheduled;
			this.interval = next;
		}
		catch (RejectedExecutionException ex) {
			logger.debug("A periodic task is closed and does not run any more", ex);
		}
	}

	// An exception, also an error, would end the periodic execution.
	private void run() {
		try {
			this.task.run();
		}
		catch (Throwable ex) {
			logger.error("The periodic renewal of leases, the retry of pending completions or the release of unused "
					+ "claims failed. It runs again in " + this.interval, ex);
		}
	}

	@Override
	public void close() {
		this.executor.shutdownNow();
	}

}
