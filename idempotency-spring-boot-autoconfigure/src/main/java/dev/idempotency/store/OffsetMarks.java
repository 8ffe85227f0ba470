/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import java.time.Instant;
import java.util.List;
import java.util.OptionalLong;
import java.util.UUID;

import dev.idempotency.OperationInProgressException;

/**
 * The last processed offset of each partition, one row for each scope, partition and
 * identity of a topic. The space does not grow with the number of records.
 * <p>
 * The methods that raise a mark use the connection that is bound to the current thread.
 * Their changes take effect if and only if that transaction commits.
 *
 * @since 0.1.0
 */
public interface OffsetMarks {

	/**
	 * The answer for a partition that has no mark.
	 */
	long NONE = -1;

	/**
	 * Raise the marks of partitions to offsets in the current transaction, with one
	 * statement. A mark that is already higher stays. The mark is locked in both cases,
	 * so the call waits for a concurrent transaction that has raised the same mark, no
	 * longer than the configured time.
	 * @param marks the offsets, each partition at most once
	 * @param joined whether the transaction must survive a failing statement
	 * @return the previous marks, in the order of the offsets, {@link #NONE} if there was
	 * none. The offset is that of a processed record if it is not higher than the
	 * previous mark
	 * @throws OperationInProgressException if the concurrent transaction took longer
	 */
	List<Long> raise(List<OffsetMark> marks, boolean joined);

	/**
	 * Find a committed mark.
	 * @param mark an offset of the partition
	 * @return the mark, empty if there is none
	 */
	OptionalLong find(OffsetMark mark);

	/**
	 * List the marks for an operator, ordered by scope, topic and partition.
	 * @param limit the largest number of marks
	 * @return the marks
	 */
	List<StoredMark> list(int limit);

	/**
	 * Lower the marks of a partition for an operator, so that its records from an offset
	 * on are processed again. Waits for a transaction that has raised a mark.
	 * @param scope the scope
	 * @param topic the topic, of any identity
	 * @param partition the partition
	 * @param next the offset of the first record to process again; with 0 the marks are
	 * deleted
	 * @return whether a mark was lowered
	 */
	boolean lower(String scope, String topic, int partition, long next);

	/**
	 * A mark in the store.
	 *
	 * @param scope the scope of the listener
	 * @param topic the topic
	 * @param topicId the identity of the topic
	 * @param partition the partition
	 * @param offset the offset of the last processed record
	 * @param updatedAt the time at which it was raised or lowered last
	 */
	record StoredMark(String scope, String topic, UUID topicId, int partition, long offset, Instant updatedAt) {

	}

}
