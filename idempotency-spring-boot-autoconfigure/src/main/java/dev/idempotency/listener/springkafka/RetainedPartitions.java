/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.springkafka;

import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.ConsumerSeekAware.ConsumerSeekCallback;

/**
 * Resumes the partitions that the consumer of an asynchronous listener keeps in a
 * cooperative rebalance.
 * <ul>
 * <li>Repairs: when a consumer waits for a missing result, all its partitions are paused.
 * If the rebalance revokes the partition of that record, Spring Kafka forgets that the
 * other partitions are paused, and never resumes them (GH-4708).
 * <li>Needed by: Spring Kafka 4.0.0 to 4.0.7, 4.1.0, 4.1.1 and 4.2.0-M1.
 * <li>Ended by: Spring Kafka 4.0.8 and 4.1.2, in which this class changes nothing.
 * <li>Without it: those partitions stay paused until the next rebalance, and a warning is
 * logged when a consumer starts.
 * </ul>
 * This is the only class that writes to a field of another library. The field is not
 * final.
 *
 * @param consumer the consumer of Spring Kafka
 * @param members its members, {@code null} if this version does not have them
 */
public record RetainedPartitions(ConsumerSeekCallback consumer, Repair.@Nullable Members members) {

	private static final String PAUSED = "consumerPaused";

	private static final String WAITING = "pausedForAsyncAcks";

	private static final String WITHOUT = "Partitions that the consumer of an asynchronous idempotent listener keeps in a "
			+ "cooperative rebalance may therefore stay paused. Verify that this version of Spring Kafka repairs its "
			+ "issue 4708";

	static final Repair REPAIR = new Repair(
			"org.springframework.kafka.listener.KafkaMessageListenerContainer$ListenerConsumer",
			Repair.variable(PAUSED, boolean.class), Repair.field(WAITING, boolean.class));

	/**
	 * Return the repair of a consumer.
	 * @param consumer the callback that the consumer registers, which is itself
	 * @return the repair
	 */
	public static RetainedPartitions of(ConsumerSeekCallback consumer) {
		return new RetainedPartitions(consumer, REPAIR.findOrWarn(consumer.getClass(), WITHOUT));
	}

	/**
	 * Note on the thread of the consumer that a rebalance has ended. If the consumer
	 * waits for a result, it resumes all partitions when the result arrives.
	 */
	public void assigned() {
		if (this.members != null && Boolean.TRUE.equals(this.members.get(WAITING, this.consumer))) {
			this.members.set(PAUSED, this.consumer, true);
		}
	}

}
