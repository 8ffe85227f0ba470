/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.reconcile;

import java.time.Instant;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotentOperation;

/**
 * A record of a topic with the operation to which its listener resolves it.
 *
 * @param topic the topic
 * @param partition the partition
 * @param offset the offset
 * @param timestamp the timestamp
 * @param consumed whether the group had committed the offset when the range was opened
 * @param target the operation, {@code null} if the record has none
 * @param problem the reason why its operation cannot be resolved, {@code null} if there
 * is an operation or the listener does not protect the record
 * @since 0.1.0
 */
public record TopicRecord(String topic, int partition, long offset, long timestamp, boolean consumed,
		@Nullable Target target, @Nullable String problem) {

	ReconciliationFinding finding(ReconciliationStatus status, @Nullable String detail) {
		IdempotencyKey key = (this.target != null) ? this.target.operation().key() : null;
		return new ReconciliationFinding(this.topic, this.partition, this.offset, Instant.ofEpochMilli(this.timestamp),
				status, (key != null) ? key.scope() : null, (key != null) ? key.value() : null, detail);
	}

	/**
	 * The operation of a record.
	 *
	 * @param template the template that executes the operation
	 * @param operation the operation
	 */
	public record Target(IdempotencyTemplate template, IdempotentOperation operation) {

	}

}
