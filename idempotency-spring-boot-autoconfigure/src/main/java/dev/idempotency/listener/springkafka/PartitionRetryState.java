/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.springkafka;

import java.util.Collection;

import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.CommonErrorHandler;

/**
 * Hands on {@code CommonErrorHandler.clearThreadStateFor(partitions)}.
 * <ul>
 * <li>Repairs: after a successful batch, Spring Kafka 4.2 calls this method where earlier
 * versions call {@code clearThreadState()}. This library is compiled against Spring Kafka
 * 4.1, so that its decorator cannot call the method of the application's error handler,
 * which would then count the failures of earlier batches.
 * <li>Needed by: Spring Kafka 4.2.
 * <li>Ended by: the release of this library that is compiled against Spring Kafka 4.2.
 * <li>Without it: the container does not call the method. If it did, the state of all
 * partitions would be cleared, as by Spring Kafka 4.1.
 * </ul>
 * A test fails if a version of Spring Kafka has another method that the decorators do not
 * hand on. A method that only newer versions have gets a class like this one.
 */
public final class PartitionRetryState {

	private static final String CLEAR = "clearThreadStateFor";

	static final Repair REPAIR = new Repair("org.springframework.kafka.listener.CommonErrorHandler",
			Repair.method(CLEAR, Collection.class));

	private static final Repair.@Nullable Members MEMBERS = REPAIR.find(CommonErrorHandler.class);

	private PartitionRetryState() {
	}

	/**
	 * Clear what an error handler knows about the failures in some partitions.
	 * @param handler the error handler
	 * @param partitions the partitions
	 */
	public static void clear(CommonErrorHandler handler, Collection<TopicPartition> partitions) {
		clear(handler, partitions, MEMBERS);
	}

	static void clear(CommonErrorHandler handler, Collection<TopicPartition> partitions,
			Repair.@Nullable Members members) {
		if (members != null) {
			members.call(CLEAR, handler, partitions);
		}
		else {
			handler.clearThreadState();
		}
	}

	/**
	 * An error handler with the method, also if its interface of Spring Kafka does not
	 * have it.
	 */
	public interface Clearable {

		/**
		 * Clear what the error handler knows about the failures in some partitions.
		 * @param partitions the partitions
		 */
		void clearThreadStateFor(Collection<TopicPartition> partitions);

	}

}
