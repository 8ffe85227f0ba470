package dev.idempotency.listener;

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
import org.springframework.beans.factory.DisposableBean;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.scheduling.concurrent.CustomizableThreadFactory;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OperationNotAcknowledgedException;

/**
 * Pauses the partition of a blocked record and resumes it after a while. The consumer
 * goes on polling, so it stays in its group.
 *
 * @since 0.1.0
 */
public final class PartitionPauses implements DisposableBean {

	private static final Log logger = LogFactory.getLog(PartitionPauses.class);

	// Shorter is lost in the time that a fetch after a seek may take.
	private static final Duration MIN = Duration.ofSeconds(1);

	// The owner may be done long before its lease is over.
	private static final Duration MAX = Duration.ofSeconds(5);

	private final ScheduledExecutorService executor;

	private final Map<String, Long> told = new ConcurrentHashMap<>();

	public PartitionPauses() {
		CustomizableThreadFactory threads = new CustomizableThreadFactory("idempotency-resume-");
		threads.setDaemon(true);
		this.executor = Executors.newSingleThreadScheduledExecutor(threads);
	}

	void pause(MessageListenerContainer container, ConsumerRecord<?, ?> record, OperationBlockedException blocked) {
		pause(container, new TopicPartition(record.topic(), record.partition()), record.offset(), blocked);
	}

	void pause(MessageListenerContainer container, TopicPartition partition, long offset,
			OperationBlockedException blocked) {
		tell(container, partition, offset, blocked);
		// A stopping container holds the lock that pausing needs. A partition that is
		// paused already has a timer of ours, or belongs to the user.
		if (!container.isRunning() || isPaused(container, partition)) {
			return;
		}
		container.pausePartition(partition);
		this.executor.schedule(() -> container.resumePartition(partition), millis(blocked.retryAfter()),
				TimeUnit.MILLISECONDS);
	}

	// The parent of concurrent containers does not answer for them.
	private static boolean isPaused(MessageListenerContainer container, TopicPartition partition) {
		return container.getContainerFor(partition.topic(), partition.partition()).isPartitionPauseRequested(partition);
	}

	private static long millis(Duration retryAfter) {
		return Math.max(MIN.toMillis(), Math.min(MAX.toMillis(), retryAfter.toMillis()));
	}

	// Once for each record, not for each of its deliveries.
	private void tell(MessageListenerContainer container, TopicPartition partition, long offset,
			OperationBlockedException blocked) {
		Long previous = this.told.put(container.getListenerId() + " " + partition, offset);
		if (previous == null || previous != offset) {
			String message = "Partition " + partition + " waits at offset " + offset + ": " + blocked.getMessage();
			if (blocked instanceof OperationInProgressException
					|| blocked instanceof OperationNotAcknowledgedException) {
				logger.info(message);
			}
			else if (blocked instanceof IdempotencyStoreUnavailableException) {
				// The template has said once that the store is gone.
				logger.debug(message, blocked);
			}
			else {
				logger.warn(message + ": " + NestedExceptionUtils.getMostSpecificCause(blocked).getMessage());
				logger.debug(message, blocked);
			}
		}
	}

	@Override
	public void destroy() {
		this.executor.shutdownNow();
	}

}
