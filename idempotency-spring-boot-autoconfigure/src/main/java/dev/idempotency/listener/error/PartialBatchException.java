package dev.idempotency.listener.error;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.MessageListenerContainer;

import dev.idempotency.OperationBlockedException;

/**
 * Reports a batch that was processed in part, because records of it are blocked. In each
 * partition, all records before the first unprocessed one are processed.
 */
@SuppressWarnings("serial")
public final class PartialBatchException extends RuntimeException {

	private final transient Map<TopicPartition, Long> unprocessed = new HashMap<>();

	private final transient Map<TopicPartition, BlockedRecord> blocked = new LinkedHashMap<>();

	private final boolean committable;

	/**
	 * Create an exception.
	 * @param cause the reason of the first blocked record
	 * @param committable whether the offsets of the processed records may be committed
	 */
	public PartialBatchException(OperationBlockedException cause, boolean committable) {
		super(cause.getMessage(), cause, false, false);
		this.committable = committable;
	}

	/**
	 * Add a record that is redelivered. Records must be added in the order of the batch:
	 * the first one of each partition counts.
	 * @param record the record
	 */
	public void addUnprocessed(ConsumerRecord<?, ?> record) {
		this.unprocessed.putIfAbsent(partition(record), record.offset());
	}

	/**
	 * Add a blocked record, whose partition is paused.
	 * @param record the record
	 * @param reason why it is blocked
	 */
	public void addBlocked(ConsumerRecord<?, ?> record, OperationBlockedException reason) {
		this.blocked.putIfAbsent(partition(record), new BlockedRecord(record.offset(), reason));
	}

	static @Nullable PartialBatchException in(@Nullable Throwable error) {
		return ExceptionCauses.find(PartialBatchException.class, error);
	}

	/**
	 * Return the positions behind the processed records.
	 * @param batch the delivered batch
	 * @return the offset to commit for each partition
	 */
	Map<TopicPartition, Long> committable(ConsumerRecords<?, ?> batch) {
		Map<TopicPartition, Long> next = new HashMap<>();
		if (this.committable) {
			for (ConsumerRecord<?, ?> record : batch) {
				if (isProcessed(record)) {
					next.put(partition(record), record.offset() + 1);
				}
			}
		}
		return next;
	}

	List<ConsumerRecord<?, ?>> remaining(ConsumerRecords<?, ?> batch) {
		List<ConsumerRecord<?, ?>> remaining = new ArrayList<>();
		for (ConsumerRecord<?, ?> record : batch) {
			if (!isProcessed(record)) {
				remaining.add(record);
			}
		}
		return remaining;
	}

	private boolean isProcessed(ConsumerRecord<?, ?> record) {
		return record.offset() < this.unprocessed.getOrDefault(partition(record), Long.MAX_VALUE);
	}

	void pause(PartitionPauses pauses, MessageListenerContainer container) {
		this.blocked
			.forEach((partition, record) -> pauses.pause(container, partition, record.offset(), record.reason()));
	}

	private static TopicPartition partition(ConsumerRecord<?, ?> record) {
		return new TopicPartition(record.topic(), record.partition());
	}

	/**
	 * The first blocked record of a partition.
	 *
	 * @param offset its offset
	 * @param reason why it is blocked
	 */
	private record BlockedRecord(long offset, OperationBlockedException reason) {

	}

}
