package dev.idempotency.listener;

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
 * Some records of a batch have to wait, or to come again behind one that waits; those
 * before them in their partitions are done.
 */
@SuppressWarnings("serial")
final class HeldBackException extends RuntimeException {

	private final transient Map<TopicPartition, Long> undone = new HashMap<>();

	private final transient Map<TopicPartition, Long> waiting = new LinkedHashMap<>();

	private final transient Map<TopicPartition, OperationBlockedException> reasons = new HashMap<>();

	private final boolean acknowledged;

	/**
	 * Create an exception.
	 * @param cause why the first of them waits
	 * @param acknowledged whether offsets of what is done may be committed
	 */
	HeldBackException(OperationBlockedException cause, boolean acknowledged) {
		super(cause.getMessage(), cause, false, false);
		this.acknowledged = acknowledged;
	}

	static @Nullable HeldBackException in(@Nullable Throwable error) {
		return Blocked.find(HeldBackException.class, error);
	}

	private static TopicPartition partition(ConsumerRecord<?, ?> record) {
		return new TopicPartition(record.topic(), record.partition());
	}

	// In the order of the batch, so that the first of each partition counts.
	void addUndone(ConsumerRecord<?, ?> record) {
		this.undone.putIfAbsent(partition(record), record.offset());
	}

	void addWaiting(ConsumerRecord<?, ?> record, OperationBlockedException reason) {
		if (this.waiting.putIfAbsent(partition(record), record.offset()) == null) {
			this.reasons.put(partition(record), reason);
		}
	}

	/**
	 * What can be committed.
	 * @param batch what was delivered
	 * @return the offset of the next record by partition
	 */
	Map<TopicPartition, Long> done(ConsumerRecords<?, ?> batch) {
		Map<TopicPartition, Long> next = new HashMap<>();
		if (this.acknowledged) {
			for (ConsumerRecord<?, ?> record : batch) {
				if (isDone(record)) {
					next.put(partition(record), record.offset() + 1);
				}
			}
		}
		return next;
	}

	List<ConsumerRecord<?, ?>> remaining(ConsumerRecords<?, ?> batch) {
		List<ConsumerRecord<?, ?>> remaining = new ArrayList<>();
		for (ConsumerRecord<?, ?> record : batch) {
			if (!isDone(record)) {
				remaining.add(record);
			}
		}
		return remaining;
	}

	private boolean isDone(ConsumerRecord<?, ?> record) {
		return record.offset() < this.undone.getOrDefault(partition(record), Long.MAX_VALUE);
	}

	void pause(PartitionPauses pauses, MessageListenerContainer container) {
		this.waiting.forEach((partition, offset) -> pauses.pause(container, partition, offset,
				java.util.Objects.requireNonNull(this.reasons.get(partition))));
	}

}
