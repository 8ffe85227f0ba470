package dev.idempotency.listener;

import java.util.HashMap;
import java.util.Map;

import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.springframework.core.log.LogAccessor;
import org.springframework.kafka.KafkaException.Level;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.ListenerUtils;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.listener.SeekUtils;

/**
 * Commits what is done of a batch, and has the rest delivered again: at once, or when its
 * paused partition is resumed.
 */
final class HeldBackRecords {

	private static final LogAccessor logger = new LogAccessor(LogFactory.getLog(HeldBackRecords.class));

	private final PartitionPauses pauses;

	HeldBackRecords(PartitionPauses pauses) {
		this.pauses = pauses;
	}

	/**
	 * Handle a batch.
	 * @param error what the container got
	 * @param held what is held back
	 * @param batch what was delivered
	 * @param consumer the consumer
	 * @param container its container
	 */
	void handle(Exception error, HeldBackException held, ConsumerRecords<?, ?> batch, Consumer<?, ?> consumer,
			MessageListenerContainer container) {
		commit(held.done(batch), consumer, container);
		held.pause(this.pauses, container);
		// Throws the exception by which the container knows records in retry.
		SeekUtils.seekOrRecover(error, held.remaining(batch), consumer, container, false, (record, ex) -> false, logger,
				Level.DEBUG);
	}

	// In a transaction everything comes again.
	private static void commit(Map<TopicPartition, Long> next, Consumer<?, ?> consumer,
			MessageListenerContainer container) {
		ContainerProperties properties = container.getContainerProperties();
		if (next.isEmpty() || properties.getKafkaAwareTransactionManager() != null) {
			return;
		}
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
			// They are duplicates then.
			logger.debug(ex, () -> "The offsets of what is done of a batch were not committed: " + offsets);
		}
	}

}
