/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.error;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntPredicate;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.MessageListenerContainer;

import dev.idempotency.ExceptionCauses;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.listener.key.Coordinates;

/**
 * Reports a batch that was processed in part, because records of it are blocked. In each
 * partition, all records before the first one that is redelivered are processed.
 */
@SuppressWarnings("serial")
public final class PartialBatchException extends RuntimeException {

	// The first offset of each partition that is redelivered, behind the last one if none
	// is. Partitions of which a filter has removed all records are missing.
	private final transient Map<TopicPartition, Long> unprocessed = new HashMap<>();

	private final transient Map<ConsumerRecord<?, ?>, OperationBlockedException> blocked = new LinkedHashMap<>();

	private final transient Map<TopicPartition, Long> held;

	private final boolean filtered;

	/**
	 * Create the exception of a batch.
	 * @param cause the reason of the first blocked record
	 * @param records the records of the batch
	 * @param processed whether the record at an index is processed
	 * @param blocked the reason of the first blocked record of each partition by its
	 * index
	 * @param held the partitions whose offsets must not be committed, each with the
	 * offset from which on its records are redelivered, although they are processed
	 * @param filtered whether the offsets of partitions may be committed of which a
	 * filter has removed all records
	 */
	public PartialBatchException(OperationBlockedException cause, List<? extends ConsumerRecord<?, ?>> records,
			IntPredicate processed, Map<Integer, OperationBlockedException> blocked, Map<TopicPartition, Long> held,
			boolean filtered) {
		super(cause.getMessage(), cause, false, false);
		this.held = held;
		this.filtered = filtered;
		for (int i = 0; i < records.size(); i++) {
			TopicPartition partition = Coordinates.partition(records.get(i));
			this.unprocessed.merge(partition, processed.test(i) ? Long.MAX_VALUE : records.get(i).offset(), Math::min);
			this.unprocessed.merge(partition, held.getOrDefault(partition, Long.MAX_VALUE), Math::min);
		}
		blocked.forEach((index, reason) -> this.blocked.put(records.get(index), reason));
	}

	static @Nullable PartialBatchException in(@Nullable Throwable error) {
		return ExceptionCauses.find(PartialBatchException.class, error);
	}

	// Return the positions behind the processed records.
	Map<TopicPartition, Long> committable(ConsumerRecords<?, ?> batch) {
		Map<TopicPartition, Long> next = new HashMap<>();
		for (ConsumerRecord<?, ?> record : batch) {
			TopicPartition partition = Coordinates.partition(record);
			if (!this.held.containsKey(partition) && isProcessed(record)) {
				next.put(partition, record.offset() + 1);
			}
		}
		return next;
	}

	List<ConsumerRecord<?, ?>> remaining(ConsumerRecords<?, ?> batch) {
		List<ConsumerRecord<?, ?>> remaining = new ArrayList<>();
		batch.forEach(remaining::add);
		remaining.removeIf(this::isProcessed);
		return remaining;
	}

	private boolean isProcessed(ConsumerRecord<?, ?> record) {
		Long end = this.unprocessed.get(Coordinates.partition(record));
		return (end != null) ? record.offset() < end : this.filtered;
	}

	void pause(PartitionPauses pauses, MessageListenerContainer container, Consumer<?, ?> consumer) {
		this.blocked.forEach((record, reason) -> pauses.pause(container, consumer, record, reason));
	}

}
