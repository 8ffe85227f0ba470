/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.reconcile;

/**
 * The status of a record of a topic, determined by the store and by the committed offset
 * of the consumer group.
 *
 * @since 0.1.0
 */
public enum ReconciliationStatus {

	/**
	 * The operation has completed. Copies of a completed record have this status too.
	 */
	COMPLETED(false),

	/**
	 * The handler has declined the operation for good, and its record is done.
	 */
	DECLINED(false),

	/**
	 * A higher version of the key has completed, so this version is not needed.
	 */
	STALE(false),

	/**
	 * The record is at or above the committed offset of the group, and its operation has
	 * not completed. The group will receive the record.
	 */
	NOT_CONSUMED(false),

	/**
	 * Another owner is processing the operation.
	 */
	IN_PROGRESS(false),

	/**
	 * The listener does not protect the record: a filter or the condition excludes it, or
	 * it has no key and is processed without one.
	 */
	UNPROTECTED(false),

	/**
	 * The store has no record of the key, and the message is older than the retention of
	 * the key, which may have expired.
	 */
	EXPIRED(false),

	/**
	 * The group has committed the offset, and the store has never seen the key.
	 */
	MISSING(true),

	/**
	 * The operation is in progress for too long: its lease has expired and no consumer
	 * has taken it over, or its first claim was made too long ago.
	 */
	STUCK(true),

	/**
	 * The last attempt has failed or was released, and the group has committed the
	 * offset, so that the record is not delivered again by itself.
	 */
	FAILED(true),

	/**
	 * The key has completed with other content, so the record was rejected.
	 */
	REJECTED(true),

	/**
	 * The record cannot be deserialized or converted, or has no usable key or version.
	 */
	UNRESOLVABLE(true);

	private final boolean finding;

	ReconciliationStatus(boolean finding) {
		this.finding = finding;
	}

	/**
	 * Return whether the effect of a record with this status may be missing.
	 * @return whether an operator should look at the record
	 */
	public boolean isFinding() {
		return this.finding;
	}

}
