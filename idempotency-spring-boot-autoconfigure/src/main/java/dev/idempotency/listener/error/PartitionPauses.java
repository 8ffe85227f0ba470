package dev.idempotency.listener.error;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.scheduling.concurrent.CustomizableThreadFactory;

import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OperationNotAcknowledgedException;

/**
 * Pauses the partition of a blocked record and resumes it after a delay. The consumer
 * keeps polling, so it stays in its group. Pauses that the application requests and
 * pauses for blocked records do not end each other.
 * <p>
 * Spring Kafka's {@code ListenerContainerPauseService} does not serve: it needs a
 * {@code TaskScheduler} bean, and its resume ends pauses that the application requests.
 */
final class PartitionPauses {

	private static final Log logger = LogFactory.getLog(PartitionPauses.class);

	// A shorter pause makes no difference: a fetch after a seek may take as long.
	private static final Duration MIN = Duration.ofSeconds(1);

	// The owner may settle long before its lease expires.
	private static final Duration MAX = Duration.ofSeconds(5);

	private static final TopicPartition NONE = new TopicPartition("", -1);

	private final ScheduledExecutorService executor;

	private final Map<String, Long> logged = new ConcurrentHashMap<>();

	PartitionPauses() {
		CustomizableThreadFactory threads = new CustomizableThreadFactory("idempotency-resume-");
		threads.setDaemon(true);
		this.executor = Executors.newSingleThreadScheduledExecutor(threads);
	}

	void pause(MessageListenerContainer container, ConsumerRecord<?, ?> record, OperationBlockedException blocked) {
		pause(container, new TopicPartition(record.topic(), record.partition()), record.offset(), blocked);
	}

	void pause(MessageListenerContainer container, TopicPartition partition, long offset,
			OperationBlockedException blocked) {
		log(container, partition, offset, blocked);
		// A stopping container holds the lock that the lookup of its consumer needs.
		MessageListenerContainer consumer = container.isRunning()
				? container.getContainerFor(partition.topic(), partition.partition()) : null;
		if (consumer == null) {
			return;
		}
		PauseRequests requests = PauseRequests.of(consumer);
		Runnable resume = (requests != null) ? block(consumer, requests, partition) : pause(consumer, partition);
		if (resume != null) {
			this.executor.schedule(resume, millis(blocked.retryAfter()), TimeUnit.MILLISECONDS);
		}
	}

	// A partition that is already blocked has a timer.
	private static @Nullable Runnable block(MessageListenerContainer consumer, PauseRequests requests,
			TopicPartition partition) {
		return !requests.block(partition) ? null : () -> {
			requests.unblock(partition);
			// Wakes the consumer. The partition is not resumed here, because the
			// application may have paused it.
			consumer.resumePartition(NONE);
		};
	}

	// A partition that is already paused has a timer, or the application paused it.
	private static @Nullable Runnable pause(MessageListenerContainer consumer, TopicPartition partition) {
		if (consumer.isPartitionPauseRequested(partition)) {
			return null;
		}
		consumer.pausePartition(partition);
		return () -> consumer.resumePartition(partition);
	}

	private static long millis(Duration retryAfter) {
		return Math.max(MIN.toMillis(), Math.min(MAX.toMillis(), retryAfter.toMillis()));
	}

	// Logs once for each record, not for each of its deliveries.
	private void log(MessageListenerContainer container, TopicPartition partition, long offset,
			OperationBlockedException blocked) {
		Long previous = this.logged.put(container.getListenerId() + " " + partition, offset);
		if (previous == null || previous != offset) {
			String message = "Partition " + partition + " is paused at offset " + offset + ": " + blocked.getMessage();
			// The template logs the cause of a refusal.
			if (blocked instanceof OperationInProgressException || blocked instanceof OperationNotAcknowledgedException
					|| blocked instanceof IdempotencyStoreRefusedException) {
				logger.info(message);
			}
			else if (blocked instanceof IdempotencyStoreUnavailableException) {
				// The template logs once that the store is unavailable.
				logger.debug(message, blocked);
			}
			else {
				logger.warn(message + ": " + NestedExceptionUtils.getMostSpecificCause(blocked).getMessage());
				logger.debug(message, blocked);
			}
		}
	}

	void stop() {
		this.executor.shutdownNow();
	}

}
