package dev.idempotency.listener;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.support.Acknowledgment;

import dev.idempotency.Deferral;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.PendingCompletion;
import dev.idempotency.Settlement;

/**
 * The records of one container whose method has returned without acknowledging them, in
 * leased mode. Their keys are completed when they are acknowledged, or when a later
 * record of their partition is, because the committed offset then passes them. Until then
 * their leases are renewed. They are released when the partition is sought back, revoked
 * or its consumer stops.
 * <p>
 * A duplicate behind such a record is not acknowledged before that record.
 */
final class UnacknowledgedRecords {

	/**
	 * Of containers that acknowledge records themselves.
	 */
	static final UnacknowledgedRecords NONE = new UnacknowledgedRecords();

	/**
	 * Defers the completion of a record that its method has not acknowledged.
	 */
	static final Deferral DEFERRAL = new Deferral() {

		@Override
		public boolean isNeeded() {
			Delivery delivery = Delivery.current();
			return delivery != null && delivery.isUnacknowledged();
		}

		@Override
		public void defer(PendingCompletion pending) {
			Delivery delivery = Delivery.current();
			if (delivery != null) {
				delivery.defer(pending);
			}
		}

	};

	private final Map<TopicPartition, Lane> lanes = new ConcurrentHashMap<>();

	private static TopicPartition partition(ConsumerRecord<?, ?> record) {
		return new TopicPartition(record.topic(), record.partition());
	}

	/**
	 * A record is delivered. If records at or behind its offset wait, the partition was
	 * sought back or has been assigned again.
	 * @param record the record
	 */
	void delivered(ConsumerRecord<?, ?> record) {
		if (this.lanes.isEmpty()) {
			return;
		}
		Lane lane = this.lanes.get(partition(record));
		if (lane != null) {
			lane.releaseFrom(record.offset());
		}
	}

	/**
	 * Hold a record whose method has returned without acknowledging it.
	 * @param record the record
	 * @param acknowledgment its acknowledgment
	 * @param key the key of its operation
	 * @param pending its completion
	 * @return the record that waits now
	 */
	Waiting hold(ConsumerRecord<?, ?> record, Acknowledgment acknowledgment, IdempotencyKey key,
			PendingCompletion pending) {
		Waiting waiting = new Waiting(acknowledgment, key, pending);
		this.lanes.computeIfAbsent(partition(record), (partition) -> new Lane()).hold(record.offset(), waiting);
		return waiting;
	}

	/**
	 * Hold a record of which an earlier copy waits in the same partition.
	 * @param record the record
	 * @param acknowledgment its acknowledgment
	 * @param key the key of its operation
	 * @return whether there is such a copy
	 */
	boolean holdCopy(ConsumerRecord<?, ?> record, Acknowledgment acknowledgment, IdempotencyKey key) {
		Lane lane = this.lanes.get(partition(record));
		return lane != null && lane.holdBehind(record.offset(), acknowledgment, (waiting) -> key.equals(waiting.key));
	}

	/**
	 * Hold a duplicate if acknowledging it would pass an earlier record that waits.
	 * @param record the record
	 * @param acknowledgment its acknowledgment
	 * @return whether it is held
	 */
	boolean holdDuplicate(ConsumerRecord<?, ?> record, Acknowledgment acknowledgment) {
		if (this.lanes.isEmpty() || acknowledgment.isOutOfOrderCommit()) {
			return false;
		}
		Lane lane = this.lanes.get(partition(record));
		return lane != null && lane.holdBehind(record.offset(), acknowledgment, (waiting) -> true);
	}

	/**
	 * Complete what the acknowledgment of a record covers, and acknowledge it.
	 * @param record the record
	 * @param acknowledgment its acknowledgment
	 * @param waiting what {@link #hold} returned for it, if its method had returned
	 */
	void acknowledge(ConsumerRecord<?, ?> record, Acknowledgment acknowledgment, @Nullable Waiting waiting) {
		Lane lane = this.lanes.isEmpty() ? null : this.lanes.get(partition(record));
		if (lane != null) {
			lane.acknowledge(record.offset(), acknowledgment, waiting);
		}
		else {
			acknowledgment.acknowledge();
		}
	}

	/**
	 * Release what waits in other partitions.
	 * @param assigned the partitions that are still assigned
	 */
	void retain(Collection<TopicPartition> assigned) {
		this.lanes.forEach((partition, lane) -> {
			if (!assigned.contains(partition)) {
				lane.releaseFrom(0);
			}
		});
	}

	boolean isEmpty() {
		return this.lanes.isEmpty();
	}

	/**
	 * A record that waits for its acknowledgment.
	 */
	static final class Waiting {

		private final Acknowledgment acknowledgment;

		// None for a duplicate.
		private final @Nullable IdempotencyKey key;

		private final @Nullable PendingCompletion pending;

		// Under the lock of its lane.
		private boolean released;

		private Waiting(Acknowledgment acknowledgment, @Nullable IdempotencyKey key,
				@Nullable PendingCompletion pending) {
			this.acknowledgment = acknowledgment;
			this.key = key;
			this.pending = pending;
		}

		private void release() {
			this.released = true;
			if (this.pending != null) {
				this.pending.release();
			}
		}

		private boolean isLost() {
			return this.pending != null && this.pending.complete() == Settlement.LOST;
		}

	}

	/**
	 * One partition. Its lock is held while completions are recorded, so that no
	 * acknowledgment of another thread passes a record that is not completed yet.
	 */
	private static final class Lane {

		private final ReentrantLock lock = new ReentrantLock();

		private final TreeMap<Long, Waiting> waiting = new TreeMap<>();

		void hold(long offset, Waiting record) {
			this.lock.lock();
			try {
				this.waiting.put(offset, record);
			}
			finally {
				this.lock.unlock();
			}
		}

		boolean holdBehind(long offset, Acknowledgment acknowledgment, Predicate<Waiting> condition) {
			this.lock.lock();
			try {
				if (this.waiting.headMap(offset).values().stream().noneMatch(condition)) {
					return false;
				}
				this.waiting.put(offset, new Waiting(acknowledgment, null, null));
				return true;
			}
			finally {
				this.lock.unlock();
			}
		}

		void releaseFrom(long offset) {
			this.lock.lock();
			try {
				Map<Long, Waiting> behind = this.waiting.tailMap(offset, true);
				List<Waiting> released = List.copyOf(behind.values());
				behind.clear();
				released.forEach(Waiting::release);
			}
			finally {
				this.lock.unlock();
			}
		}

		// A record that was released is redelivered, and completed then.
		void acknowledge(long offset, Acknowledgment acknowledgment, @Nullable Waiting record) {
			this.lock.lock();
			try {
				if (record != null && record.released) {
					return;
				}
				boolean lost = acknowledgment.isOutOfOrderCommit() ? isLost(this.waiting.remove(offset))
						: completeUpTo(offset);
				if (!lost) {
					acknowledgment.acknowledge();
					acknowledgeDuplicates();
				}
			}
			finally {
				this.lock.unlock();
			}
		}

		// Another owner decides about a record that is lost.
		private boolean completeUpTo(long offset) {
			boolean lost = false;
			while (!this.waiting.isEmpty() && this.waiting.firstKey() <= offset) {
				Map.Entry<Long, Waiting> first = this.waiting.pollFirstEntry();
				lost = isLost(first.getValue()) && first.getKey() == offset;
			}
			return lost;
		}

		private static boolean isLost(@Nullable Waiting record) {
			return record != null && record.isLost();
		}

		private void acknowledgeDuplicates() {
			while (!this.waiting.isEmpty() && this.waiting.firstEntry().getValue().pending == null) {
				this.waiting.pollFirstEntry().getValue().acknowledgment.acknowledge();
			}
		}

	}

}
