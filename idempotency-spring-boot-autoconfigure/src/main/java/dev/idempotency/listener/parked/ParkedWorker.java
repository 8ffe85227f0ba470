package dev.idempotency.listener.parked;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Predicate;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;

import dev.idempotency.OperationBlockedException;
import dev.idempotency.listener.parked.ParkedRun.Result;
import dev.idempotency.store.ParkedRecords;
import dev.idempotency.template.IdempotencyListener.ParkedOutcome;

/**
 * Processes the parked records of the partitions that are assigned to the consumers of a
 * container, on one thread, which exists while there are such partitions.
 */
final class ParkedWorker {

	private static final Log logger = LogFactory.getLog(ParkedWorker.class);

	// After an error of the store, and while the application pauses the container.
	private static final Duration REST = Duration.ofSeconds(1);

	// A signal wakes the worker earlier.
	private static final Duration IDLE = Duration.ofMinutes(1);

	private final Map<TopicPartition, ParkedQueue> queues = new ConcurrentHashMap<>();

	private final String name;

	private final ParkedRecords store;

	private final Consumer<ParkedQueue> loader;

	private final Predicate<TopicPartition> paused;

	private final Listener listener;

	// Guards the following state, except that of the worker's own thread.
	private final Object monitor = new Object();

	private @Nullable Thread thread;

	private @Nullable ParkedQueue running;

	private boolean signalled;

	/**
	 * Create a worker.
	 */
	ParkedWorker(String name, ParkedRecords store, Consumer<ParkedQueue> loader, Predicate<TopicPartition> paused,
			Listener listener) {
		this.name = name;
		this.store = store;
		this.loader = loader;
		this.paused = paused;
		this.listener = listener;
	}

	@Nullable ParkedQueue queue(TopicPartition partition) {
		return this.queues.get(partition);
	}

	Iterable<ParkedQueue> queues() {
		return this.queues.values();
	}

	/**
	 * Process the parked records of a partition from now on.
	 */
	void add(ParkedQueue queue, java.util.function.Supplier<ParkedRun> run) {
		synchronized (this.monitor) {
			this.queues.put(queue.topicPartition(), queue);
			if (this.thread == null) {
				this.thread = new Thread(() -> work(run.get()), this.name);
				this.thread.setDaemon(true);
				this.thread.start();
			}
		}
		signal();
	}

	/**
	 * Stop processing the records of a partition. Waits for the one that is being
	 * processed.
	 */
	void remove(ParkedQueue queue, Duration timeout) {
		this.queues.remove(queue.topicPartition(), queue);
		signal();
		long end = System.nanoTime() + timeout.toNanos();
		synchronized (this.monitor) {
			try {
				for (long left = timeout.toNanos(); this.running == queue && left > 0; left = end - System.nanoTime()) {
					TimeUnit.NANOSECONDS.timedWait(this.monitor, left);
				}
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
		}
	}

	void signal() {
		synchronized (this.monitor) {
			this.signalled = true;
			this.monitor.notifyAll();
		}
	}

	private void work(ParkedRun run) {
		try {
			while (!hasEnded()) {
				await(workOnce(run));
			}
		}
		finally {
			run.end();
		}
	}

	// Without this thread, the records would stay parked until the next start.
	private Duration workOnce(ParkedRun run) {
		try {
			Duration pause = IDLE;
			for (ParkedQueue queue : this.queues.values()) {
				Duration wanted = work(queue, run);
				pause = (wanted.compareTo(pause) < 0) ? wanted : pause;
			}
			if (pause.equals(IDLE)) {
				run.rest();
				this.listener.idle();
			}
			return pause;
		}
		catch (Throwable ex) {
			logger.error("The parked records could not be processed, and are processed later", ex);
			return REST;
		}
	}

	private boolean hasEnded() {
		synchronized (this.monitor) {
			if (this.queues.isEmpty()) {
				this.thread = null;
				return true;
			}
			return false;
		}
	}

	private void await(Duration pause) {
		long end = System.nanoTime() + pause.toNanos();
		synchronized (this.monitor) {
			try {
				for (long left = pause.toNanos(); !this.signalled && left > 0; left = end - System.nanoTime()) {
					TimeUnit.NANOSECONDS.timedWait(this.monitor, left);
				}
			}
			catch (InterruptedException ex) {
				// A handler has interrupted this thread. It ends with its partitions.
				logger.debug("The wait was interrupted", ex);
			}
			this.signalled = false;
		}
	}

	/**
	 * Process the due records of a partition once.
	 */
	private Duration work(ParkedQueue queue, ParkedRun run) {
		if (this.paused.test(queue.topicPartition())) {
			return REST;
		}
		try {
			this.loader.accept(queue);
		}
		catch (RuntimeException ex) {
			logger.debug("The parked records of the partition " + queue.topicPartition() + " could not be read", ex);
			return REST;
		}
		for (ParkedEntry entry : queue.heads()) {
			if (entry.nanosUntilDue() <= 0 && queue.mayRun(entry) && begin(queue)) {
				try {
					process(queue, entry, run);
				}
				finally {
					end();
				}
			}
		}
		return Duration.ofNanos(queue.heads()
			.stream()
			.mapToLong((entry) -> Math.max(0, entry.nanosUntilDue()))
			.min()
			.orElse(IDLE.toNanos()));
	}

	// From here on, a revocation waits.
	private boolean begin(ParkedQueue queue) {
		synchronized (this.monitor) {
			this.running = queue.isActive() ? queue : null;
			return this.running != null;
		}
	}

	private void end() {
		synchronized (this.monitor) {
			this.running = null;
			this.monitor.notifyAll();
		}
	}

	private void process(ParkedQueue queue, ParkedEntry entry, ParkedRun run) {
		try {
			if (entry.outcome() == null) {
				Result result = run.run(entry, queue::isActive);
				if (result.outcome() == null) {
					if (result.failed()) {
						queue.failing(entry);
					}
					entry.delay(result.delay());
					return;
				}
				entry.done(result.outcome());
			}
			remove(queue, entry, entry.outcome());
		}
		catch (Throwable ex) {
			// The record stays parked, whatever has happened.
			entry.delay(REST.multipliedBy(5));
			if (ex instanceof OperationBlockedException) {
				logger.debug("A parked record is processed later: " + entry, ex);
			}
			else {
				logger.error("A parked record could not be processed, and is processed again: " + entry, ex);
			}
		}
	}

	private void remove(ParkedQueue queue, ParkedEntry entry, @Nullable ParkedOutcome outcome) {
		if (outcome != null) {
			this.store.remove(entry.id());
			if (queue.remove(entry)) {
				this.listener.done(entry, outcome);
			}
		}
	}

	/**
	 * Receives notifications.
	 */
	interface Listener {

		/**
		 * Called when a record is done and no longer parked.
		 */
		void done(ParkedEntry entry, ParkedOutcome outcome);

		/**
		 * Called when no record is parked.
		 */
		void idle();

	}

}
