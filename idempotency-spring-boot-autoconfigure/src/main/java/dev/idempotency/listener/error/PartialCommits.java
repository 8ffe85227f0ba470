package dev.idempotency.listener.error;

import java.util.HashMap;
import java.util.Map;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.kafka.listener.ListenerUtils;
import org.springframework.kafka.listener.MessageListenerContainer;

/**
 * Commits the offsets of the processed records of partial batches.
 */
final class PartialCommits {

	private static final Log logger = LogFactory.getLog(PartialCommits.class);

	private PartialCommits() {
	}

	// After a rollback of the Kafka transaction the whole batch is redelivered.
	static void commit(Map<TopicPartition, Long> next, Consumer<?, ?> consumer, MessageListenerContainer container) {
		if (container.getContainerProperties().getKafkaAwareTransactionManager() == null) {
			ConsumerState.current().committed.putAll(next);
			send(next, consumer, container);
		}
	}

	// Before the next poll, and before the consumer gives up its partitions, the
	// container has committed the acknowledgments of this one, which may have lower
	// offsets.
	static void commitAgain(Consumer<?, ?> consumer, MessageListenerContainer container) {
		Map<TopicPartition, Long> committed = ConsumerState.current().committed;
		AckMode mode = container.getContainerProperties().getAckMode();
		if (mode == AckMode.MANUAL || mode == AckMode.MANUAL_IMMEDIATE) {
			send(committed, consumer, container);
		}
		committed.clear();
	}

	private static void send(Map<TopicPartition, Long> next, Consumer<?, ?> consumer,
			MessageListenerContainer container) {
		if (next.isEmpty()) {
			return;
		}
		ContainerProperties properties = container.getContainerProperties();
		Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
		next.forEach((partition, offset) -> offsets.put(partition,
				ListenerUtils.createOffsetAndMetadata(container, offset)));
		try {
			if (properties.isSyncCommits()) {
				consumer.commitSync(offsets, properties.getSyncCommitTimeout());
			}
			else {
				consumer.commitAsync(offsets, properties.getCommitCallback());
			}
		}
		catch (RuntimeException ex) {
			// The records are redelivered and skipped as duplicates.
			logger.debug("The offsets of the processed records of a partial batch were not committed, "
					+ "so these records are redelivered as duplicates: " + offsets, ex);
		}
	}

}
