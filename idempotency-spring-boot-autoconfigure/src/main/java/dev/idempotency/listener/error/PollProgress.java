/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

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

	private static final Duration LOOKUP = Duration.ofSeconds(5);

	// The first offset of each partition that is not processed.
	private final Map<TopicPartition, Long> next = new HashMap<>();

	// The positions of the paused partitions before the previous poll.
	private final Map<TopicPartition, Long> pausedAt = new HashMap<>();

	// The failed record that the container keeps.
	private @Nullable ConsumerRecord<?, ?> kept;

	// The partitions of the batch whose transaction has not ended.
	private Set<TopicPartition> batch = Set.of();

	private boolean transactional;

	private boolean active;

	private boolean left;

	private boolean uncommitted;

	// A container that keeps records of an earlier poll, in order to deliver them after
	// this one, has paused their partitions. The positions are behind these records. A
	// position that has changed since the previous poll was sought.
	void begin(Consumer<?, ?> consumer, boolean inTransaction) {
		this.transactional = inTransaction;
		this.active = true;
		Map<TopicPartition, Long> earlier = Map.copyOf(this.next);
		Set<TopicPartition> paused = consumer.paused();
		this.pausedAt.keySet().retainAll(paused);
		this.next.clear();
		for (TopicPartition partition : consumer.assignment()) {
			Long position = position(consumer, partition, Duration.ZERO);
			if (position != null) {
				this.next.put(partition, (paused.contains(partition) && !isSought(partition, position))
						? Math.min(position, earlier.getOrDefault(partition, position)) : position);
			}
		}
	}

	private boolean isSought(TopicPartition partition, Long position) {
		Long previous = this.pausedAt.put(partition, position);
		return previous != null && !previous.equals(position);
	}

	// A poll must not wait for it before it begins: it waits itself, and it also reports
	// the errors of the consumer.
	private static @Nullable Long position(Consumer<?, ?> consumer, TopicPartition partition, Duration wait) {
		try {
			return consumer.position(partition, wait);
		}
		catch (WakeupException ex) {
			consumer.wakeup();
		}
		catch (RuntimeException ex) {
			// The position is not known yet.
		}
		return null;
	}

	// A poll may return records of the partitions that it assigns. The application may
	// have sought in them, so that their positions have to be looked up.
	void assigned(Consumer<?, ?> consumer, Collection<TopicPartition> partitions) {
		long end = System.nanoTime() + LOOKUP.toNanos();
		for (TopicPartition partition : partitions) {
			Duration left = Duration.ofNanos(Math.max(0, end - System.nanoTime()));
			Long position = position(consumer, partition, left);
			if (position != null) {
				this.next.put(partition, position);
			}
			else {
				this.next.remove(partition);
			}
		}
	}

	void revoked(Collection<TopicPartition> partitions) {
		this.next.keySet().removeAll(partitions);
		this.pausedAt.keySet().removeAll(partitions);
	}

	void begin(ConsumerRecord<?, ?> record) {
		this.left = true;
		this.kept = null;
		this.next.merge(Coordinates.partition(record), record.offset(), Math::min);
	}

	// The container goes on with the next record unless an interceptor fails.
	void end(ConsumerRecord<?, ?> record) {
		this.left = true;
		if (this.kept == null || !Coordinates.isSame(this.kept, record)) {
			this.next.put(Coordinates.partition(record), record.offset() + 1);
		}
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

	// Note that the container keeps a failed record and those behind it, in order to
	// deliver them after a later poll.
	void keep(ConsumerRecord<?, ?> record) {
		this.kept = record;
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
	// keeps the partitions that it has not delivered, and does not poll before it
	// delivers the next one.
	Map<TopicPartition, Long> end(Consumer<?, ?> consumer, boolean oneByOne) {
		Map<TopicPartition, Long> sought = new HashMap<>();
		if (this.left) {
			Set<TopicPartition> partitions = new HashSet<>(this.batch.isEmpty() ? this.next.keySet() : this.batch);
			partitions.retainAll(consumer.assignment());
			for (TopicPartition partition : partitions) {
				Long offset = this.next.get(partition);
				Long position = position(consumer, partition, Duration.ZERO);
				if (offset != null && position != null && position > offset) {
					consumer.seek(partition, offset);
					sought.put(partition, offset);
				}
			}
		}
		this.batch = Set.of();
		this.active = oneByOne;
		this.left = false;
		this.uncommitted = false;
		return sought;
	}

}
