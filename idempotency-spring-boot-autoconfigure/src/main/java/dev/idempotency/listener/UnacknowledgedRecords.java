package dev.idempotency.listener;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Settlement;
import dev.idempotency.template.PendingCompletion;
import dev.idempotency.template.TransactionBoundary.Deferral;

/**
 * The records of one container whose method has returned without acknowledging them, in
 * leased mode. Their keys are completed when they are acknowledged, or when a later
 * record of their partition is, because the committed offset then passes them. Until then
 * their leases are renewed. They are released when the partition is sought back, revoked
 * or its consumer stops.
 * <p>
 * An acknowledgment reaches the container when the completions that it covers are
 * recorded, in the order of the deliveries. A duplicate behind a record that waits is
 * acknowledged after that record.
 */
final class UnacknowledgedRecords {

	/**
	 * Of containers that acknowledge records themselves.
	 */
	static final UnacknowledgedRecords NONE = new UnacknowledgedRecords(new ConcurrentHashMap<>());

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

	private final AtomicLong deliveries = new AtomicLong();

	// The store is never called while it is held, except to release.
	private final ReentrantLock lock = new ReentrantLock();

	// Only partitions in which a record waits.
	private final Map<TopicPartition, TreeMap<Long, Waiting>> lanes = new ConcurrentHashMap<>();

	// Of all containers of the application: those that wait in any lane, by their key.
	private final Map<IdempotencyKey, Waiting> originals;

	private volatile List<HeldAcknowledgment> held = List.of();

	UnacknowledgedRecords(Map<IdempotencyKey, Waiting> originals) {
		this.originals = originals;
	}

	private static TopicPartition partition(ConsumerRecord<?, ?> record) {
		return new TopicPartition(record.topic(), record.partition());
	}

	/**
	 * Records are delivered. If records at or behind their offsets wait, the partition
	 * was sought back or has been assigned again.
	 * @param records the records, in the order of their offsets
	 * @return the number of the delivery
	 */
	long delivered(Collection<? extends ConsumerRecord<?, ?>> records) {
		if (!isEmpty()) {
			Map<TopicPartition, Long> first = new HashMap<>();
			records.forEach((record) -> first.putIfAbsent(partition(record), record.offset()));
			first.forEach(this::releaseFrom);
		}
		return this.deliveries.incrementAndGet();
	}

	/**
	 * Hold a record whose method has returned without acknowledging it.
	 * @param record the record
	 * @param key the key of its operation
	 * @param pending its completion
	 * @return the record that waits now
	 */
	Waiting hold(ConsumerRecord<?, ?> record, IdempotencyKey key, PendingCompletion pending) {
		Waiting waiting = new Waiting(key, pending);
		this.lock.lock();
		try {
			this.lanes.computeIfAbsent(partition(record), (partition) -> new TreeMap<>()).put(record.offset(), waiting);
			this.originals.put(key, waiting);
			return waiting;
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Look up the record of which another one is a copy, in all partitions of all
	 * containers. One of the same partition is earlier: those behind are released when a
	 * record is delivered.
	 * @param key the key of their operation
	 * @return the record that waits, {@code null} if there is none
	 */
	@Nullable Waiting original(IdempotencyKey key) {
		return this.originals.get(key);
	}

	/**
	 * Whether committing the offsets of records would pass an earlier record that waits.
	 * @param records the records
	 * @return whether there is one
	 */
	boolean isBehind(Collection<? extends ConsumerRecord<?, ?>> records) {
		if (this.lanes.isEmpty()) {
			return false;
		}
		this.lock.lock();
		try {
			return isWaiting(last(records));
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Acknowledge records that need no completion, after those before them that wait.
	 * @param covered the records
	 * @param delivery the number of their delivery
	 * @param acknowledgment acknowledges them
	 */
	void acknowledgeDuplicates(Collection<? extends ConsumerRecord<?, ?>> covered, long delivery,
			Runnable acknowledgment) {
		if (isIdle(covered)) {
			acknowledgment.run();
			return;
		}
		add(new HeldAcknowledgment(delivery, last(covered), List.of(), null, false, acknowledgment));
		settle();
	}

	/**
	 * Acknowledge a record whose operation has run for another one, when that has
	 * completed, and after those before it that wait. If the other one is released, it is
	 * redelivered, so the copy is not needed. An acknowledgment that passes the copy does
	 * not wait for that.
	 * @param covered the copy
	 * @param delivery the number of its delivery
	 * @param original what {@link #original} returned
	 * @param outOfOrder whether earlier records need acknowledgments of their own
	 * @param acknowledgment acknowledges it
	 */
	void acknowledgeCopy(Collection<? extends ConsumerRecord<?, ?>> covered, long delivery, Waiting original,
			boolean outOfOrder, Runnable acknowledgment) {
		add(new HeldAcknowledgment(delivery, last(covered), List.of(), original, outOfOrder, acknowledgment));
		settle();
	}

	/**
	 * Complete records and those before them, because their offset is committed by other
	 * means than an acknowledgment.
	 * @param covered the records
	 * @return whether all completions are recorded; those that the store does not take
	 * now are retried
	 */
	boolean complete(Collection<? extends ConsumerRecord<?, ?>> covered) {
		if (this.lanes.isEmpty()) {
			return true;
		}
		Map<TopicPartition, Long> last = last(covered);
		complete(ask(last));
		this.lock.lock();
		try {
			return !isWaiting(last);
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Complete what the acknowledgment of records covers, and acknowledge them when that
	 * is recorded. If one of them was released, it is redelivered, and none of them is
	 * acknowledged.
	 * @param covered the records
	 * @param delivery the number of their delivery
	 * @param own those of them that wait, what {@link #hold} returned
	 * @param outOfOrder whether earlier records need acknowledgments of their own
	 * @param acknowledgment acknowledges them
	 */
	void acknowledge(Collection<? extends ConsumerRecord<?, ?>> covered, long delivery, Collection<Waiting> own,
			boolean outOfOrder, Runnable acknowledgment) {
		if (own.isEmpty() && isIdle(covered)) {
			acknowledgment.run();
			return;
		}
		Map<TopicPartition, Long> last = last(covered);
		List<Waiting> due;
		this.lock.lock();
		try {
			due = outOfOrder ? ask(own) : ask(last);
			if (own.stream().noneMatch((waiting) -> waiting.released)) {
				add(new HeldAcknowledgment(delivery, outOfOrder ? Map.of() : last, List.copyOf(own), null, outOfOrder,
						acknowledgment));
			}
		}
		finally {
			this.lock.unlock();
		}
		complete(due);
	}

	private boolean isIdle(Collection<? extends ConsumerRecord<?, ?>> records) {
		return this.held.isEmpty() && (this.lanes.isEmpty()
				|| records.stream().noneMatch((one) -> this.lanes.containsKey(partition(one))));
	}

	private static Map<TopicPartition, Long> last(Collection<? extends ConsumerRecord<?, ?>> records) {
		Map<TopicPartition, Long> last = new HashMap<>();
		records.forEach((record) -> last.merge(partition(record), record.offset(), Math::max));
		return last;
	}

	private void add(HeldAcknowledgment acknowledgment) {
		this.lock.lock();
		try {
			List<HeldAcknowledgment> more = new ArrayList<>(this.held);
			int position = more.size();
			while (position > 0 && more.get(position - 1).delivery > acknowledgment.delivery) {
				position--;
			}
			more.add(position, acknowledgment);
			this.held = more;
		}
		finally {
			this.lock.unlock();
		}
	}

	private List<Waiting> ask(Map<TopicPartition, Long> last) {
		this.lock.lock();
		try {
			List<Waiting> covered = new ArrayList<>();
			last.forEach((partition, offset) -> {
				TreeMap<Long, Waiting> lane = this.lanes.get(partition);
				if (lane != null) {
					covered.addAll(lane.headMap(offset, true).values());
				}
			});
			return ask(covered);
		}
		finally {
			this.lock.unlock();
		}
	}

	// Each of them is completed by the first who asks for it.
	private static List<Waiting> ask(Collection<Waiting> covered) {
		List<Waiting> due = covered.stream().filter((waiting) -> !waiting.asked && !waiting.released).toList();
		due.forEach((waiting) -> waiting.asked = true);
		return due;
	}

	private void complete(List<Waiting> due) {
		try {
			if (!due.isEmpty()) {
				PendingCompletion.all(due.stream().map((waiting) -> waiting.pending).toList()).complete();
			}
		}
		finally {
			settle();
		}
	}

	private boolean isWaiting(Map<TopicPartition, Long> last) {
		return last.entrySet().stream().anyMatch((one) -> {
			TreeMap<Long, Waiting> lane = this.lanes.get(one.getKey());
			return lane != null && lane.firstKey() <= one.getValue();
		});
	}

	/**
	 * Acknowledge everything whose completion has been recorded.
	 */
	void settle() {
		this.lock.lock();
		try {
			this.lanes.values().removeIf((lane) -> {
				lane.values().removeIf(this::isDone);
				return lane.isEmpty();
			});
			if (!this.held.isEmpty()) {
				passOn();
			}
		}
		finally {
			this.lock.unlock();
		}
	}

	private boolean isDone(Waiting waiting) {
		boolean done = waiting.asked && waiting.pending.outcome() != null;
		if (done) {
			this.originals.remove(waiting.key, waiting);
		}
		return done;
	}

	private void passOn() {
		List<HeldAcknowledgment> ready = new ArrayList<>();
		List<HeldAcknowledgment> left = new ArrayList<>();
		this.held.forEach((one) -> (isReady(one) ? ready : left).add(one));
		// An offset must not move back.
		left.removeIf((one) -> one.original != null && !one.outOfOrder && isPassed(one, ready));
		this.held = left;
		RuntimeException failure = null;
		for (HeldAcknowledgment one : ready) {
			try {
				// A released record is redelivered. Another owner decides about a lost
				// one.
				if (one.own.stream().noneMatch((waiting) -> waiting.released || waiting.isLost())) {
					one.acknowledgment.run();
				}
			}
			catch (RuntimeException ex) {
				failure = (failure != null) ? failure : ex;
			}
		}
		if (failure != null) {
			throw failure;
		}
	}

	private boolean isReady(HeldAcknowledgment one) {
		return !isWaiting(one.last) && one.own.stream().noneMatch((waiting) -> waiting.pending.outcome() == null)
				&& (one.original == null || one.original.released || one.original.pending.outcome() != null);
	}

	private static boolean isPassed(HeldAcknowledgment copy, List<HeldAcknowledgment> ready) {
		return copy.last.entrySet()
			.stream()
			.allMatch((end) -> ready.stream()
				.anyMatch((one) -> one.last.getOrDefault(end.getKey(), -1L) > end.getValue()));
	}

	/**
	 * Release what waits in other partitions.
	 * @param assigned the partitions that are still assigned
	 */
	void retain(Collection<TopicPartition> assigned) {
		List.copyOf(this.lanes.keySet()).forEach((partition) -> {
			if (!assigned.contains(partition)) {
				releaseFrom(partition, 0);
			}
		});
	}

	// The completion of a record that was acknowledged is retried by the template.
	private void releaseFrom(TopicPartition partition, long offset) {
		this.lock.lock();
		try {
			this.held = this.held.stream().filter((one) -> one.last.getOrDefault(partition, -1L) < offset).toList();
			TreeMap<Long, Waiting> lane = this.lanes.get(partition);
			if (lane == null) {
				return;
			}
			Map<Long, Waiting> behind = lane.tailMap(offset, true);
			List<Waiting> released = List.copyOf(behind.values());
			behind.clear();
			if (lane.isEmpty()) {
				this.lanes.remove(partition);
			}
			released.forEach((waiting) -> {
				waiting.released = true;
				this.originals.remove(waiting.key, waiting);
			});
			List<PendingCompletion> open = released.stream()
				.filter((waiting) -> !waiting.asked)
				.map((waiting) -> waiting.pending)
				.toList();
			if (!open.isEmpty()) {
				PendingCompletion.all(open).release();
			}
		}
		finally {
			this.lock.unlock();
		}
	}

	boolean isEmpty() {
		return this.lanes.isEmpty() && this.held.isEmpty();
	}

	/**
	 * A record that waits for its acknowledgment.
	 */
	static final class Waiting {

		private final IdempotencyKey key;

		private final PendingCompletion pending;

		// Under the lock.
		private boolean asked;

		// Written under the lock.
		private volatile boolean released;

		private Waiting(IdempotencyKey key, PendingCompletion pending) {
			this.key = key;
			this.pending = pending;
		}

		PendingCompletion pending() {
			return this.pending;
		}

		private boolean isLost() {
			return this.pending.outcome() == Settlement.LOST;
		}

	}

	/**
	 * An acknowledgment that waits for completions.
	 *
	 * @param delivery the number of the delivery
	 * @param last the last offset of each partition before which nothing may wait
	 * @param own the records that are acknowledged and whose completion waited
	 * @param original the record of which the acknowledged one is a copy, if it is one
	 * @param outOfOrder whether earlier records need acknowledgments of their own
	 * @param acknowledgment acknowledges them
	 */
	private record HeldAcknowledgment(long delivery, Map<TopicPartition, Long> last, List<Waiting> own,
			@Nullable Waiting original, boolean outOfOrder, Runnable acknowledgment) {

	}

}
