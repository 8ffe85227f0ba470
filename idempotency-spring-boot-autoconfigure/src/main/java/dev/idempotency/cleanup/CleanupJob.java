/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.cleanup;

import java.time.Duration;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.context.SmartLifecycle;
import org.springframework.format.annotation.DurationFormat;
import org.springframework.format.datetime.standard.DurationFormatterUtils;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.Threads;
import dev.idempotency.store.ExpiredRecords;
import dev.idempotency.template.Observers;

/**
 * Deletes expired records periodically on its own thread. A run deletes batches until one
 * is not full or its time budget is spent. It pauses before each batch. No other instance
 * cleans up during the pause, so that several instances put no more load on the database
 * than one.
 *
 * @since 0.1.0
 */
public final class CleanupJob implements SmartLifecycle {

	private static final Log logger = LogFactory.getLog(CleanupJob.class);

	// The attempts for a batch that conflicts with concurrent transactions.
	private static final int MAX_TRIES = 3;

	// Lets the current statement end before its connection is closed.
	private static final Duration LAST_WAIT = Duration.ofSeconds(5);

	private final String table;

	private final ExpiredRecords records;

	private final Settings settings;

	private final Observers observers;

	private volatile @Nullable ScheduledExecutorService executor;

	private volatile boolean stopped;

	/**
	 * Create a job.
	 * @param records the records to delete
	 * @param settings the settings
	 * @param observers notified of each run
	 */
	public CleanupJob(ExpiredRecords records, Settings settings, Observers observers) {
		this(records.table(), records, settings, observers);
	}

	/**
	 * Create a job for one of several tables with the same name.
	 * @param table the name of the table for log lines and meters
	 * @param records the records to delete
	 * @param settings the settings
	 * @param observers notified of each run
	 */
	public CleanupJob(String table, ExpiredRecords records, Settings settings, Observers observers) {
		this.table = table;
		this.records = records;
		this.settings = settings;
		this.observers = observers;
	}

	@Override
	public void start() {
		// There are two jobs if there is an outbox.
		ScheduledExecutorService scheduler = Threads.scheduler("cleanup-" + this.table);
		this.executor = scheduler;
		this.stopped = false;
		schedule(scheduler, this.settings.firstDelay());
	}

	private void schedule(ScheduledExecutorService scheduler, Duration delay) {
		try {
			scheduler.schedule(() -> {
				run();
				schedule(scheduler, this.settings.nextDelay());
			}, delay.toMillis(), TimeUnit.MILLISECONDS);
		}
		catch (RejectedExecutionException ex) {
			logger.debug("The cleanup was stopped before its next run could be scheduled", ex);
		}
	}

	/**
	 * Delete the records that have expired, as many as the time budget allows.
	 * @return the number of deleted records
	 */
	public int runOnce() {
		long start = System.nanoTime();
		int deleted = 0;
		int batch = this.settings.batchSize();
		try {
			this.records.maintain();
			// The budget excludes the maintenance, so each run deletes records.
			long end = System.nanoTime() + this.settings.timeBudget().toNanos();
			while (!this.stopped && batch == this.settings.batchSize() && System.nanoTime() - end < 0) {
				batch = deleteBatch();
				deleted += batch;
			}
			return deleted;
		}
		finally {
			ended(deleted, Duration.ofNanos(System.nanoTime() - start));
		}
	}

	private int deleteBatch() {
		for (int tries = 1;; tries++) {
			try {
				return this.records.deleteExpired(this.settings.batchSize(), this.settings.pause());
			}
			catch (OperationInProgressException ex) {
				if (tries == MAX_TRIES || this.stopped) {
					throw ex;
				}
				logger.debug("A concurrent transaction aborted a batch of the cleanup. It is repeated", ex);
			}
		}
	}

	private void ended(int deleted, Duration duration) {
		if (deleted > 0) {
			logger
				.info("Deleted " + deleted + " expired rows from " + this.table + " in " + duration.toMillis() + " ms");
			this.observers.store((observer) -> observer.cleanedUp(this.table, deleted));
		}
		if (this.stopped) {
			return;
		}
		try {
			Duration backlogAge = this.records.backlogAge();
			this.observers.store((observer) -> observer.cleanupEnded(this.table, duration, backlogAge));
		}
		catch (RuntimeException ex) {
			logger.warn("Reading the age of the oldest expired row in " + this.table
					+ " failed. The next cleanup tries again", ex);
		}
	}

	// An error must not prevent the next run.
	private void run() {
		try {
			runOnce();
		}
		catch (Throwable ex) {
			if (this.stopped) {
				logger.debug("The cleanup was stopped during a run", ex);
				return;
			}
			logger.warn("Deleting expired rows from " + this.table + " failed. The next attempt is in about "
					+ this.settings.interval() + ". The table grows until an attempt succeeds", ex);
		}
	}

	@Override
	public void stop() {
		this.stopped = true;
		ScheduledExecutorService scheduler = this.executor;
		if (scheduler == null) {
			return;
		}
		scheduler.shutdownNow();
		try {
			if (!scheduler.awaitTermination(LAST_WAIT.toMillis(), TimeUnit.MILLISECONDS)) {
				logger.warn("The cleanup of " + this.table + " did not end within " + LAST_WAIT
						+ ". The current batch is rolled back");
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	@Override
	public boolean isRunning() {
		return this.executor != null && !this.stopped;
	}

	/**
	 * The settings of a {@link CleanupJob}.
	 *
	 * @param interval the time between the end of a run and the next run, varied randomly
	 * by up to a fifth
	 * @param timeBudget how long a run may delete records; the next run deletes the
	 * others
	 * @param batchSize how many records a statement deletes at most
	 * @param pause how long to pause before each statement
	 */
	public record Settings(Duration interval, Duration timeBudget, int batchSize, Duration pause) {

		private static final double JITTER = 0.2;

		public Settings {
			IdempotencyConfigurationException.check(interval.toMillis() > 0,
					"The interval of the cleanup of expired idempotency records is " + text(interval) + ".",
					"Set 'idempotency.cleanup.interval' to a millisecond or more, or 'idempotency.cleanup.enabled' to "
							+ "'false'.");
			IdempotencyConfigurationException.check(timeBudget.toMillis() > 0,
					"The time budget of the cleanup of expired idempotency records is " + text(timeBudget) + ".",
					"Set 'idempotency.cleanup.time-budget' to a millisecond or more.");
			IdempotencyConfigurationException.check(batchSize > 0,
					"The batch size of the cleanup of expired idempotency records is " + batchSize
							+ ", so that it would never delete a record.",
					"Set 'idempotency.cleanup.batch-size' to one or more.");
			IdempotencyConfigurationException.check(!pause.isNegative() && pause.compareTo(timeBudget) < 0,
					"The cleanup of expired idempotency records pauses for " + text(pause) + ", but its time budget is "
							+ text(timeBudget) + ".",
					"Set 'idempotency.cleanup.pause' to zero or more and to less than 'idempotency.cleanup.time-budget'.");
		}

		private static String text(Duration duration) {
			return DurationFormatterUtils.print(duration, DurationFormat.Style.COMPOSITE);
		}

		// Instances that start at the same time must not clean up at the same time.
		Duration firstDelay() {
			return Duration.ofMillis(ThreadLocalRandom.current().nextLong(this.interval.toMillis() + 1));
		}

		// The runs of several instances must not coincide later, either.
		Duration nextDelay() {
			double share = ThreadLocalRandom.current().nextDouble(1 - JITTER, 1 + JITTER);
			return Duration.ofMillis(Math.round(this.interval.toMillis() * share));
		}

	}

}
