/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.delivery;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.listener.key.Coordinates;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.PendingCompletion;

/**
 * The acknowledgment state of one container in the manual ack modes.
 * <ol>
 * <li><em>Unacknowledged records</em>: the method has returned without acknowledging
 * them. In leased mode, the completion of one with a key is pending. The key is completed
 * when its record is acknowledged, or when a later record of the partition is, because
 * the committed offset then passes it. Until then its lease is renewed. It is released
 * when the partition is sought back or revoked, or when the consumer stops.
 * <li><em>Queued acknowledgments</em>: the method has acknowledged records whose
 * completions are not recorded yet. An acknowledgment reaches the container when the
 * completions that it covers are recorded, in the order of the deliveries. The
 * acknowledgment of a duplicate queues behind the unacknowledged records before it.
 * </ol>
 */
public final class ContainerAcknowledgments {

	// The state of containers that acknowledge records themselves.
	static final ContainerAcknowledgments NONE = new ContainerAcknowledgments(new ConcurrentHashMap<>());

	private static final Log logger = LogFactory.getLog(ContainerAcknowledgments.class);

	private final AtomicLong deliveries = new AtomicLong();

	// While the lock is held, the store is called only to release keys.
	private final ReentrantLock lock = new ReentrantLock();

	// Contains only partitions with an unacknowledged record.
	private final Map<TopicPartition, TreeMap<Long, UnacknowledgedRecord>> unacknowledged = new ConcurrentHashMap<>();

	// The unacknowledged records of all containers of the application. One in the
	// partition of a record that is delivered has a lower offset, because begin releases
	// the others.
	final Map<IdempotencyKey, UnacknowledgedRecord> originals;

	private volatile List<QueuedAcknowledgment> queue = List.of();

	ContainerAcknowledgments(Map<IdempotencyKey, UnacknowledgedRecord> originals) {
		this.originals = originals;
	}

	boolean isEmpty() {
		return this.unacknowledged.isEmpty() && this.queue.isEmpty();
	}

	// Begin a delivery. Unacknowledged records at or behind its offsets are
	// released, because the partition was sought back or has been assigned again.
	long begin(Collection<? extends ConsumerRecord<?, ?>> records) {
		if (!isEmpty()) {
			Map<TopicPartition, Long> first = new HashMap<>();
			records.forEach((record) -> first.putIfAbsent(Coordinates.partition(record), record.offset()));
			first.forEach(this::releaseFrom);
			passOnQuietly();
		}
		return this.deliveries.incrementAndGet();
	}

	// A record that has run without protection has no completion.
	UnacknowledgedRecord add(ConsumerRecord<?, ?> record, @Nullable PendingCompletion pending) {
		UnacknowledgedRecord added = new UnacknowledgedRecord(pending);
		return locked(() -> {
			if (pending != null) {
				this.originals.put(pending.key(), added);
			}
			this.unacknowledged.computeIfAbsent(Coordinates.partition(record), (partition) -> new TreeMap<>())
				.put(record.offset(), added);
			return added;
		});
	}

	// A commit of the offset of a record that is delivered would pass the unacknowledged
	// records of its partition, because begin releases those behind it.
	Set<TopicPartition> unacknowledgedPartitions() {
		return new HashSet<>(this.unacknowledged.keySet());
	}

	// Whether a commit of the offset of a record that is delivered would pass an
	// unacknowledged record, or come before the commit of a lower offset.
	boolean isWaiting(TopicPartition partition) {
		return this.unacknowledged.containsKey(partition)
				|| this.queue.stream().anyMatch((one) -> one.last.containsKey(partition));
	}

	// Complete records and the unacknowledged records before them, because their
	// offsets are committed without an acknowledgment. A queued acknowledgment that the
	// commit has passed would move the offset back.
	void complete(Collection<? extends ConsumerRecord<?, ?>> covered, boolean committed) {
		if (!isEmpty()) {
			complete(locked(() -> {
				Map<TopicPartition, Long> last = last(covered);
				if (committed) {
					this.queue = this.queue.stream()
						.filter((one) -> one.outOfOrder || !one.last.entrySet()
							.stream()
							.anyMatch((end) -> last.getOrDefault(end.getKey(), -1L) >= end.getValue()))
						.toList();
				}
				return startCompleting(upTo(last));
			}));
		}
	}

	// Acknowledge records when the completions that their acknowledgment covers are
	// recorded. If one of the records was released, it is redelivered, and none of
	// them is acknowledged.
	void acknowledge(Collection<? extends ConsumerRecord<?, ?>> covered, long delivery,
			Collection<UnacknowledgedRecord> own, List<UnacknowledgedRecord> originals, boolean outOfOrder,
			Runnable acknowledgment) {
		if (own.isEmpty() && originals.isEmpty() && isIdle(covered)) {
			acknowledgment.run();
			return;
		}
		Map<TopicPartition, Long> last = last(covered);
		complete(locked(() -> {
			List<UnacknowledgedRecord> due = startCompleting(outOfOrder ? own : upTo(last));
			if (own.stream().noneMatch(UnacknowledgedRecord::isRedelivered)) {
				enqueue(new QueuedAcknowledgment(delivery, outOfOrder ? Map.of() : last, List.copyOf(own), originals,
						outOfOrder, acknowledgment));
			}
			return due;
		}));
	}

	// Acknowledge duplicates, which need no completion, after the unacknowledged records
	// before them and those of which they are copies. If such an original is released, it
	// is redelivered, so the copy need not be. An acknowledgment of a later record passes
	// the copy without waiting for the original.
	void acknowledgeDuplicates(Collection<? extends ConsumerRecord<?, ?>> covered, long delivery,
			List<UnacknowledgedRecord> originals, boolean outOfOrder, Runnable acknowledgment) {
		if (originals.isEmpty() && (outOfOrder || isIdle(covered))) {
			acknowledgment.run();
			return;
		}
		enqueue(new QueuedAcknowledgment(delivery, last(covered), List.of(), originals, outOfOrder, acknowledgment));
		settle();
	}

	// Pass on all acknowledgments whose completions have been recorded.
	void settle() {
		locked(() -> {
			this.unacknowledged.values().removeIf((records) -> {
				records.values().removeIf(this::removeIfCompleted);
				return records.isEmpty();
			});
			passOn();
			return null;
		});
	}

	// Release the unacknowledged records of revoked partitions.
	void retain(Collection<TopicPartition> assigned) {
		// Another consumer may have committed higher offsets of a revoked partition.
		locked(() -> {
			this.queue = this.queue.stream().filter((one) -> assigned.containsAll(one.last.keySet())).toList();
			return null;
		});
		Set<TopicPartition> revoked = unacknowledgedPartitions();
		revoked.removeAll(assigned);
		revoked.forEach((partition) -> releaseFrom(partition, 0));
	}

	// The template retries the completion of an acknowledged record.
	private void releaseFrom(TopicPartition partition, long offset) {
		locked(() -> {
			this.queue = this.queue.stream().filter((one) -> one.last.getOrDefault(partition, -1L) < offset).toList();
			TreeMap<Long, UnacknowledgedRecord> records = this.unacknowledged.getOrDefault(partition, new TreeMap<>());
			Map<Long, UnacknowledgedRecord> behind = records.tailMap(offset, true);
			List<UnacknowledgedRecord> released = List.copyOf(behind.values());
			behind.clear();
			if (records.isEmpty()) {
				this.unacknowledged.remove(partition);
			}
			released.forEach((record) -> {
				record.released = true;
				forget(record);
			});
			List<PendingCompletion> open = pending(released.stream().filter((record) -> !record.completing).toList());
			if (!open.isEmpty()) {
				PendingCompletion.all(open).releaseUnacknowledged();
			}
			return null;
		});
	}

	private boolean isIdle(Collection<? extends ConsumerRecord<?, ?>> records) {
		return this.queue.isEmpty() && (this.unacknowledged.isEmpty()
				|| records.stream().noneMatch((one) -> this.unacknowledged.containsKey(Coordinates.partition(one))));
	}

	private List<UnacknowledgedRecord> upTo(Map<TopicPartition, Long> last) {
		List<UnacknowledgedRecord> covered = new ArrayList<>();
		last.forEach((partition, offset) -> {
			TreeMap<Long, UnacknowledgedRecord> records = this.unacknowledged.get(partition);
			if (records != null) {
				covered.addAll(records.headMap(offset, true).values());
			}
		});
		return covered;
	}

	// Selects each record only once, so that only one thread completes it.
	private static List<UnacknowledgedRecord> startCompleting(Collection<UnacknowledgedRecord> covered) {
		List<UnacknowledgedRecord> due = covered.stream()
			.filter((record) -> !record.completing && !record.released)
			.toList();
		due.forEach((record) -> record.completing = true);
		return due;
	}

	private void complete(List<UnacknowledgedRecord> due) {
		try {
			List<PendingCompletion> completions = pending(due);
			if (!completions.isEmpty()) {
				PendingCompletion.all(completions).complete();
			}
		}
		finally {
			settle();
		}
	}

	private static List<PendingCompletion> pending(List<UnacknowledgedRecord> records) {
		return records.stream().map((record) -> record.pending).filter(Objects::nonNull).toList();
	}

	private boolean removeIfCompleted(UnacknowledgedRecord record) {
		boolean completed = record.completing && record.isRecorded();
		if (completed) {
			forget(record);
		}
		return completed;
	}

	private void forget(UnacknowledgedRecord record) {
		if (record.pending != null) {
			this.originals.remove(record.pending.key(), record);
		}
	}

	private void enqueue(QueuedAcknowledgment acknowledgment) {
		locked(() -> {
			List<QueuedAcknowledgment> more = new ArrayList<>(this.queue);
			more.add(acknowledgment);
			more.sort(Comparator.comparingLong(QueuedAcknowledgment::delivery));
			this.queue = more;
			return null;
		});
	}

	// An acknowledgment of an earlier delivery must not fail this one.
	private void passOnQuietly() {
		try {
			settle();
		}
		catch (RuntimeException ex) {
			logger.warn("An acknowledgment could not be passed on to the container", ex);
		}
	}

	private void passOn() {
		List<QueuedAcknowledgment> ready = new ArrayList<>();
		List<QueuedAcknowledgment> left = new ArrayList<>();
		this.queue.forEach((one) -> (isReady(one) ? ready : left).add(one));
		// A committed offset must not move back.
		left.removeIf((one) -> (!one.originals.isEmpty() || one.acknowledgment instanceof ConsumerAction)
				&& !one.outOfOrder && isPassed(one, ready));
		this.queue = left;
		RuntimeException failure = null;
		for (QueuedAcknowledgment one : ready) {
			try {
				// A released record is redelivered. The offset of a lost one is not
				// committed either, because another owner processes it.
				if (one.own.stream().noneMatch((record) -> record.isRedelivered() || record.isLost())) {
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

	private boolean isReady(QueuedAcknowledgment one) {
		return (!(one.acknowledgment instanceof ConsumerAction action) || action.isPossible())
				&& upTo(one.last).isEmpty() && one.own.stream().allMatch(UnacknowledgedRecord::isRecorded)
				&& one.originals.stream().allMatch((copied) -> copied.released || copied.isRecorded());
	}

	private static boolean isPassed(QueuedAcknowledgment copy, List<QueuedAcknowledgment> ready) {
		return copy.last.entrySet()
			.stream()
			.allMatch((end) -> ready.stream()
				.anyMatch((one) -> one.last.getOrDefault(end.getKey(), -1L) > end.getValue()));
	}

	private static Map<TopicPartition, Long> last(Collection<? extends ConsumerRecord<?, ?>> records) {
		Map<TopicPartition, Long> last = new HashMap<>();
		records.forEach((record) -> last.merge(Coordinates.partition(record), record.offset(), Math::max));
		return last;
	}

	private <T extends @Nullable Object> T locked(Supplier<T> action) {
		this.lock.lock();
		try {
			return action.get();
		}
		finally {
			this.lock.unlock();
		}
	}

	static final class UnacknowledgedRecord {

		// A record without protection has none.
		final @Nullable PendingCompletion pending;

		// Accessed under the lock.
		private boolean completing;

		// Written under the lock.
		private volatile boolean released;

		private UnacknowledgedRecord(@Nullable PendingCompletion pending) {
			this.pending = pending;
		}

		// A released key is free, so that its acknowledgment must not move the offset.
		private boolean isRedelivered() {
			return this.released && this.pending != null;
		}

		private boolean isRecorded() {
			return this.pending == null || this.pending.outcome() != null;
		}

		private boolean isLost() {
			return this.pending != null && this.pending.outcome() == Settlement.LOST;
		}

	}

	// The container accepts an index only on the thread of its consumer.
	record ConsumerAction(Thread consumer, Runnable action) implements Runnable {

		boolean isPossible() {
			return this.consumer == Thread.currentThread();
		}

		@Override
		public void run() {
			this.action.run();
		}

	}

	/**
	 * An acknowledgment that waits for completions.
	 *
	 * @param delivery the number of the delivery
	 * @param last the last covered offset of each partition
	 * @param own the unacknowledged records that are acknowledged
	 * @param originals the unacknowledged records of which acknowledged ones are copies
	 * @param outOfOrder whether earlier records need acknowledgments of their own
	 * @param acknowledgment acknowledges the records
	 */
	private record QueuedAcknowledgment(long delivery, Map<TopicPartition, Long> last, List<UnacknowledgedRecord> own,
			List<UnacknowledgedRecord> originals, boolean outOfOrder, Runnable acknowledgment) {

	}

}
