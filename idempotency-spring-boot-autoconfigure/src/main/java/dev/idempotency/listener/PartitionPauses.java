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
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.scheduling.concurrent.CustomizableThreadFactory;

import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OperationNotAcknowledgedException;

/**
 * Pauses the partition of a blocked record and resumes it after a while. The consumer
 * goes on polling, so it stays in its group. A pause that the application requests is not
 * ended, and ends none of these.
 *
 * @since 0.1.0
 */
public final class PartitionPauses implements DisposableBean {

	private static final Log logger = LogFactory.getLog(PartitionPauses.class);

	// Shorter is lost in the time that a fetch after a seek may take.
	private static final Duration MIN = Duration.ofSeconds(1);

	// The owner may be done long before its lease is over.
	private static final Duration MAX = Duration.ofSeconds(5);

	private static final TopicPartition NONE = new TopicPartition("", -1);

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
		// A stopping container holds the lock that looking for its consumer needs.
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

	// A partition that is blocked already has a timer.
	private static @Nullable Runnable block(MessageListenerContainer consumer, PauseRequests requests,
			TopicPartition partition) {
		return !requests.block(partition) ? null : () -> {
			requests.unblock(partition);
			// Wakes the consumer and resumes nothing: the application may have paused the
			// partition.
			consumer.resumePartition(NONE);
		};
	}

	// A partition that is paused already has a timer, or was paused by the application.
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

	// Once for each record, not for each of its deliveries.
	private void tell(MessageListenerContainer container, TopicPartition partition, long offset,
			OperationBlockedException blocked) {
		Long previous = this.told.put(container.getListenerId() + " " + partition, offset);
		if (previous == null || previous != offset) {
			String message = "Partition " + partition + " waits at offset " + offset + ": " + blocked.getMessage();
			// The template has logged the cause of a refusal.
			if (blocked instanceof OperationInProgressException || blocked instanceof OperationNotAcknowledgedException
					|| blocked instanceof IdempotencyStoreRefusedException) {
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
