/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.springkafka;

import java.util.List;
import java.util.Map;
import java.util.Objects;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.ConsumerSeekAware.ConsumerSeekCallback;

/**
 * Retries failed results of asynchronous listeners without a loss.
 * <ul>
 * <li>Repairs: Spring Kafka acknowledges a failed record before its retry, and reports
 * all failures of a container to the consumer that was created last. This class reports a
 * failure to the consumer that has delivered the record, and removes the offsets that a
 * consumer waits for although their records are redelivered.
 * <li>Needed by: Spring Kafka 4.0.0 to 4.0.8, 4.1.0 to 4.1.2, and 4.2.0-M1.
 * <li>Ended by: no release yet.
 * <li>Without it: failures are retried as Spring Kafka does it,
 * {@link RetainedPartitions} is not active, and a warning is logged when a consumer
 * starts.
 * </ul>
 *
 * @param consumer the consumer of Spring Kafka, which is its own lock
 * @param members its members
 */
public record FailedResults(ConsumerSeekCallback consumer, Repair.Members members) {

	private static final String REPORT = "callbackForAsyncFailure";

	private static final String OFFSETS = "offsetsInThisBatch";

	private static final String FORGET = "removeOffsetsInBatch";

	private static final String WITHOUT = "Failures of asynchronous idempotent listeners are therefore retried as Spring "
			+ "Kafka does it. Verify that a failed record is not acknowledged before its retry, and is retried with a "
			+ "concurrency of 2 or more";

	static final Repair REPAIR = new Repair(
			"org.springframework.kafka.listener.KafkaMessageListenerContainer$ListenerConsumer",
			Repair.method(REPORT, ConsumerRecord.class, RuntimeException.class), Repair.field(OFFSETS, Map.class),
			Repair.method(FORGET, Iterable.class));

	/**
	 * Return the access to a consumer.
	 * @param consumer the callback that the consumer registers, which is itself
	 * @return the access, {@code null} if this version does not have it
	 */
	public static @Nullable FailedResults of(ConsumerSeekCallback consumer) {
		Repair.Members members = REPAIR.findOrWarn(consumer.getClass(), WITHOUT);
		return (members != null) ? new FailedResults(consumer, members) : null;
	}

	/**
	 * Report a failure to the consumer. It accepts failures from other threads, and hands
	 * them to its error handler between two polls.
	 * @param record the record
	 * @param failure the failure
	 */
	public void report(ConsumerRecord<?, ?> record, RuntimeException failure) {
		this.members.call(REPORT, this.consumer, record, failure);
	}

	/**
	 * Remove the offsets of records from those that the consumer waits for.
	 * @param records the records
	 */
	public void forget(List<? extends ConsumerRecord<?, ?>> records) {
		synchronized (this.consumer) {
			this.members.call(FORGET, this.consumer, records);
		}
	}

	/**
	 * Remove the offsets of a partition from those that the consumer waits for. The
	 * container is paused until all delivered records are acknowledged.
	 * @param partition the partition
	 * @param first the first offset
	 */
	public void forgetFrom(TopicPartition partition, long first) {
		synchronized (this.consumer) {
			forget(open(partition).stream()
				.filter((offset) -> offset >= first)
				.map((offset) -> new ConsumerRecord<>(partition.topic(), partition.partition(), offset, "", ""))
				.toList());
		}
	}

	/**
	 * Remove a partition without offsets, which the container leaves behind when an
	 * acknowledgment fails.
	 * @param partition the partition
	 */
	public void forgetEmpty(TopicPartition partition) {
		synchronized (this.consumer) {
			if (open(partition).isEmpty()) {
				offsets().remove(partition);
			}
		}
	}

	private List<Long> open(TopicPartition partition) {
		return offsets().getOrDefault(partition, List.of());
	}

	@SuppressWarnings("unchecked")
	private Map<TopicPartition, List<Long>> offsets() {
		return (Map<TopicPartition, List<Long>>) Objects.requireNonNull(this.members.get(OFFSETS, this.consumer));
	}

}
