package dev.idempotency.listener.error;

import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.jspecify.annotations.Nullable;

import dev.idempotency.listener.key.Coordinates;

/**
 * How far a container has processed the records of the current poll of this thread's
 * consumer. A container leaves a poll early, without a seek, when its producer is fenced,
 * or when an interceptor or an event listener throws an exception outside of the message
 * listener. The next commit would then pass the records that were not processed, so the
 * consumer must seek back to them.
 */
final class PollProgress {

	// The first offset of each partition that is not processed.
	private final Map<TopicPartition, Long> next = new HashMap<>();

	// The partitions of the batch whose transaction has not ended.
	private Set<TopicPartition> batch = Set.of();

	private boolean transactional;

	private boolean active;

	private boolean left;

	private boolean uncommitted;

	// A container that keeps records of an earlier poll, in order to deliver them after
	// this one, has paused their partitions. The positions are behind these records.
	void begin(Consumer<?, ?> consumer, boolean inTransaction) {
		this.transactional = inTransaction;
		this.active = true;
		Map<TopicPartition, Long> earlier = Map.copyOf(this.next);
		Set<TopicPartition> paused = consumer.paused();
		this.next.clear();
		for (TopicPartition partition : consumer.assignment()) {
			Long position = position(consumer, partition);
			if (position != null) {
				this.next.put(partition, paused.contains(partition)
						? Math.min(position, earlier.getOrDefault(partition, position)) : position);
			}
		}
	}

	// Must not wait: the poll does, and it also reports the errors of the consumer.
	private static @Nullable Long position(Consumer<?, ?> consumer, TopicPartition partition) {
		try {
			return consumer.position(partition, Duration.ZERO);
		}
		catch (WakeupException ex) {
			consumer.wakeup();
		}
		catch (RuntimeException ex) {
			// The position is not known yet.
		}
		return null;
	}

	// A poll may return records of the partitions that it assigns.
	void assigned(Map<TopicPartition, Long> positions) {
		this.next.putAll(positions);
	}

	void revoked(Collection<TopicPartition> partitions) {
		this.next.keySet().removeAll(partitions);
	}

	void begin(ConsumerRecord<?, ?> record) {
		this.left = true;
		this.next.merge(Coordinates.partition(record), record.offset(), Math::min);
	}

	// The container goes on with the next record unless an interceptor fails.
	void end(ConsumerRecord<?, ?> record) {
		this.left = true;
		this.next.put(Coordinates.partition(record), record.offset() + 1);
	}

	// Without a transaction, the error handler also handles failures of interceptors.
	void begin(ConsumerRecords<?, ?> records) {
		if (this.transactional) {
			this.active = true;
			this.left = true;
			this.batch = records.partitions();
		}
		else {
			this.next.keySet().removeAll(records.partitions());
		}
	}

	// Note that the container keeps records, in order to deliver them after a later poll.
	void keep(ConsumerRecords<?, ?> records) {
		records.partitions()
			.forEach((partition) -> this.next.put(partition, records.records(partition).get(0).offset()));
	}

	// Note that the container goes on with the poll.
	void goOn() {
		this.left = false;
	}

	// Note that the container may leave the poll.
	void leave() {
		this.left = this.active;
	}

	// Note that the transaction of the records has been committed, or that the
	// after-rollback processor handles them.
	void handled() {
		this.next.keySet().removeAll(this.batch);
		this.batch = Set.of();
		this.left = false;
		this.uncommitted = false;
	}

	void transactionEnded(boolean committed) {
		if (!this.transactional || !this.active) {
			return;
		}
		if (committed) {
			handled();
		}
		else {
			this.left = true;
			this.uncommitted = true;
		}
	}

	boolean isUncommitted() {
		return this.uncommitted;
	}

	// Seek back to the records that were not processed, if the container has left the
	// poll. A container that delivers the partitions of a poll one after the other
	// keeps the partitions that it has not delivered.
	Map<TopicPartition, Long> end(Consumer<?, ?> consumer) {
		Map<TopicPartition, Long> sought = new HashMap<>();
		if (this.left) {
			Set<TopicPartition> partitions = new HashSet<>(this.batch.isEmpty() ? this.next.keySet() : this.batch);
			partitions.retainAll(consumer.assignment());
			for (TopicPartition partition : partitions) {
				Long offset = this.next.get(partition);
				Long position = position(consumer, partition);
				if (offset != null && position != null && position > offset) {
					consumer.seek(partition, offset);
					sought.put(partition, offset);
				}
			}
		}
		this.batch = Set.of();
		this.active = false;
		this.left = false;
		this.uncommitted = false;
		return sought;
	}

}
