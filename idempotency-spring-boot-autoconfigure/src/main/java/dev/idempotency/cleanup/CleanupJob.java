package dev.idempotency.cleanup;

import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.context.SmartLifecycle;
import org.springframework.scheduling.concurrent.CustomizableThreadFactory;

import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.ExpiredRecords;
import dev.idempotency.template.IdempotencyListener;

/**
 * Deletes expired records on a thread of its own, batch by batch until a batch is not
 * full or the time of the run is over. Before each batch it leaves the database alone for
 * a while; nobody else cleans meanwhile, so that several instances are as gentle as one.
 *
 * @since 0.1.0
 */
public final class CleanupJob implements SmartLifecycle {

	private static final Log logger = LogFactory.getLog(CleanupJob.class);

	// Of a batch that meets concurrent transactions.
	private static final int MAX_TRIES = 3;

	// For the statement that runs, so that its connection is not closed under it.
	private static final Duration LAST_WAIT = Duration.ofSeconds(5);

	private final ExpiredRecords records;

	private final CleanupSettings settings;

	private final IdempotencyListener listener;

	private @Nullable ScheduledExecutorService executor;

	private volatile boolean running;

	private volatile boolean stopped;

	/**
	 * Create a job.
	 * @param records what to delete
	 * @param settings how
	 * @param listener who is told
	 */
	public CleanupJob(ExpiredRecords records, CleanupSettings settings, IdempotencyListener listener) {
		this.records = records;
		this.settings = settings;
		this.listener = listener;
	}

	@Override
	public void start() {
		// With an outbox there are two jobs.
		CustomizableThreadFactory threads = new CustomizableThreadFactory(
				"idempotency-cleanup-" + this.records.table() + "-");
		threads.setDaemon(true);
		ScheduledExecutorService scheduler = Executors.newSingleThreadScheduledExecutor(threads);
		this.executor = scheduler;
		this.running = true;
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
			logger.debug("The cleanup has been stopped", ex);
		}
	}

	/**
	 * Delete the records that are expired now, as many as the time of a run allows.
	 * @return the number of deleted records
	 */
	public int runOnce() {
		long start = System.nanoTime();
		int deleted = 0;
		int batch = this.settings.batchSize();
		try {
			this.records.maintain();
			// However long that took, something is deleted.
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
				logger.debug("A concurrent transaction has ended a batch; it is repeated", ex);
			}
		}
	}

	private void ended(int deleted, Duration duration) {
		String table = this.records.table();
		if (deleted > 0) {
			logger.info("Deleted " + deleted + " expired rows from " + table + " in " + duration.toMillis() + " ms");
			this.listener.cleanedUp(table, deleted);
		}
		if (this.stopped) {
			return;
		}
		try {
			this.listener.cleanupEnded(table, duration, this.records.backlogAge());
		}
		catch (RuntimeException ex) {
			logger.warn("The oldest expired row could not be looked for in " + table
					+ "; the next try comes after the next cleanup", ex);
		}
	}

	// Whatever happens, the next run comes.
	private void run() {
		try {
			runOnce();
		}
		catch (Throwable ex) {
			if (this.stopped) {
				logger.debug("The cleanup was stopped while it ran", ex);
				return;
			}
			logger.warn(
					"Expired rows could not be deleted from " + this.records.table() + "; the next try comes in about "
							+ this.settings.interval() + ". Until it succeeds the table grows",
					ex);
		}
	}

	@Override
	public void stop() {
		this.running = false;
		this.stopped = true;
		if (this.executor == null) {
			return;
		}
		this.executor.shutdownNow();
		try {
			if (!this.executor.awaitTermination(LAST_WAIT.toMillis(), TimeUnit.MILLISECONDS)) {
				logger.warn("The cleanup of " + this.records.table() + " did not end within " + LAST_WAIT
						+ "; what it has not committed is rolled back");
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	@Override
	public boolean isRunning() {
		return this.running;
	}

}
