/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.delivery;

import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.ReadableText;
import dev.idempotency.Threads;
import dev.idempotency.listener.key.Coordinates;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.Observers;
import dev.idempotency.template.OperationObserver.BlockedRecord;

/**
 * The records of an endpoint that are blocked, one in each partition: reports since when,
 * and logs one that is blocked for a minute, once a minute for each listener. A record is
 * no longer blocked here when it, or a record behind it, is delivered and not blocked, or
 * when its partition is assigned to another consumer.
 */
final class BlockedRecords {

	private static final Log logger = LogFactory.getLog(BlockedRecords.class);

	private final Duration logInterval;

	private final Map<TopicPartition, Entry> entries = new ConcurrentHashMap<>();

	private final Map<String, Long> logged = new ConcurrentHashMap<>();

	BlockedRecords(Duration logInterval) {
		this.logInterval = logInterval;
	}

	// Note that a record is blocked, on the thread of its consumer.
	void blocked(ConsumerRecord<?, ?> record, @Nullable IdempotencyKey key, OperationBlockedException reason,
			ListenerSettings settings) {
		TopicPartition partition = Coordinates.partition(record);
		Entry known = this.entries.get(partition);
		if (known == null || known.record.offset() != record.offset()) {
			end(partition);
			BlockedRecord blocked = new BlockedRecord(settings.name(), record.topic(), record.partition(),
					record.offset(), Instant.now());
			this.entries.put(partition,
					new Entry(blocked, settings.observers(), System.nanoTime(), Thread.currentThread()));
			settings.observers().operation((observer) -> observer.blocked(blocked));
		}
		else {
			logIfDue(known, key, reason, settings);
		}
	}

	private void logIfDue(Entry entry, @Nullable IdempotencyKey key, OperationBlockedException reason,
			ListenerSettings settings) {
		long now = System.nanoTime();
		long interval = this.logInterval.toNanos();
		Long last = this.logged.get(entry.record.listener());
		if (now - entry.since < interval || (last != null && now - last < interval)) {
			return;
		}
		this.logged.put(entry.record.listener(), now);
		String message = "The listener " + entry.record.listener() + " has waited for "
				+ Duration.ofNanos(now - entry.since).toSeconds() + " s at topic " + entry.record.topic()
				+ ", partition " + entry.record.partition() + ", offset " + entry.record.offset()
				+ ((key != null) ? ", key '" + ReadableText.of(key.value()) + "'" : "") + ": ";
		if (key == null || !(reason instanceof OperationInProgressException)) {
			logger.warn(message + reason.getMessage());
			return;
		}
		// The consumer must not wait for this call of the store.
		Threads
			.daemon("idempotency-blocked-record", () -> logger.warn(message + owner(settings.template().store(), key)))
			.start();
	}

	private static String owner(IdempotencyStore store, IdempotencyKey key) {
		try {
			return Optional.ofNullable(store.find(List.of(key)).get(key))
				.map(BlockedRecords::describe)
				.orElse("the store has no record of the key, so that the transaction of its owner is still open");
		}
		catch (RuntimeException ex) {
			return "another owner has the key, and the store did not tell more: " + ex.getMessage();
		}
	}

	private static String describe(IdempotencyRecord owner) {
		Instant until = owner.claimedUntil();
		return "the state of the key is " + owner.state() + ", its attempt is " + owner.attempt()
				+ ", its fencing token is " + owner.fence() + ", it was first claimed at " + owner.createdAt()
				+ ((until != null) ? ", and the lease of its owner ends at " + until : "");
	}

	void passed(List<? extends ConsumerRecord<?, ?>> records) {
		if (this.entries.isEmpty()) {
			return;
		}
		for (ConsumerRecord<?, ?> record : records) {
			TopicPartition partition = Coordinates.partition(record);
			Entry known = this.entries.get(partition);
			if (known != null && record.offset() >= known.record.offset()) {
				end(partition);
			}
		}
	}

	void revoked(Collection<TopicPartition> partitions) {
		partitions.forEach(this::end);
	}

	void closed() {
		this.entries.forEach((partition, entry) -> {
			if (entry.consumer == Thread.currentThread()) {
				end(partition);
			}
		});
	}

	private void end(TopicPartition partition) {
		Entry known = this.entries.remove(partition);
		if (known != null) {
			known.observers.operation((observer) -> observer.unblocked(known.record));
		}
	}

	private record Entry(BlockedRecord record, Observers observers, long since, Thread consumer) {

	}

}
