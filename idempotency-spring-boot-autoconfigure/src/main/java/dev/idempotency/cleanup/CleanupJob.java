package dev.idempotency.cleanup;

import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.context.SmartLifecycle;
import org.springframework.scheduling.concurrent.CustomizableThreadFactory;

import dev.idempotency.IdempotencyListener;

/**
 * Deletes expired records on a thread of its own, batch by batch until a batch is not
 * full. The first run comes after a random part of the interval, so that instances that
 * start together do not clean together.
 *
 * @since 0.1.0
 */
public final class CleanupJob implements SmartLifecycle {

	private static final Log logger = LogFactory.getLog(CleanupJob.class);

	private final ExpiredRecords records;

	private final Duration interval;

	private final int batchSize;

	private final IdempotencyListener listener;

	private @Nullable ScheduledExecutorService executor;

	private volatile boolean running;

	private volatile boolean stopped;

	/**
	 * Create a job.
	 * @param records what to delete
	 * @param interval the time between the end of a run and the next
	 * @param batchSize how many records a statement deletes at most
	 * @param listener who is told
	 */
	public CleanupJob(ExpiredRecords records, Duration interval, int batchSize, IdempotencyListener listener) {
		this.records = records;
		this.interval = interval;
		this.batchSize = batchSize;
		this.listener = listener;
	}

	@Override
	public void start() {
		CustomizableThreadFactory threads = new CustomizableThreadFactory("idempotency-cleanup-");
		threads.setDaemon(true);
		this.executor = Executors.newSingleThreadScheduledExecutor(threads);
		this.running = true;
		this.stopped = false;
		long millis = this.interval.toMillis();
		this.executor.scheduleWithFixedDelay(this::run, ThreadLocalRandom.current().nextLong(millis + 1), millis,
				TimeUnit.MILLISECONDS);
	}

	/**
	 * Delete all records that are expired now.
	 * @return the number of deleted records
	 */
	public int runOnce() {
		int deleted = 0;
		int batch = this.batchSize;
		while (!this.stopped && batch == this.batchSize) {
			batch = this.records.deleteExpired(this.batchSize);
			deleted += batch;
		}
		if (deleted > 0) {
			logger.info("Deleted " + deleted + " expired idempotency records from " + this.records.table());
			this.listener.cleanedUp(this.records.table(), deleted);
		}
		return deleted;
	}

	private void run() {
		try {
			runOnce();
		}
		catch (RuntimeException ex) {
			logger.warn("Expired idempotency records could not be deleted from " + this.records.table()
					+ "; the next try comes in " + this.interval, ex);
		}
	}

	@Override
	public void stop() {
		this.running = false;
		this.stopped = true;
		if (this.executor != null) {
			this.executor.shutdownNow();
		}
	}

	@Override
	public boolean isRunning() {
		return this.running;
	}

}
