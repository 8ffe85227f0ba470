/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import java.time.Duration;

/**
 * Deletes the records whose retention has expired. A store implements it to be cleaned up
 * by this library.
 *
 * @since 0.1.0
 */
public interface ExpiredRecords {

	/**
	 * Return the name of the table, for log lines and meters.
	 * @return the name
	 */
	String table();

	/**
	 * Maintain the table. Each run of the cleanup calls this method first. It must not
	 * prevent the deletion of expired records, so it logs its errors.
	 */
	default void maintain() {
	}

	/**
	 * Pause, then delete one batch. If the store supports it, only one process at a time
	 * pauses or deletes, and a call of another process returns at once. The pause locks
	 * no record, and the deletion skips records that are in use.
	 * @param limit the largest number of records to delete
	 * @param pause the time to wait; an interrupt ends it, and then nothing is deleted
	 * @return the number of deleted records; less than the limit if this process has
	 * nothing more to delete now
	 */
	int deleteExpired(int limit, Duration pause);

	/**
	 * Return the time since the oldest record that may be deleted expired. The call must
	 * be cheap for any number of records.
	 * @return the time, zero if there is no such record
	 */
	Duration backlogAge();

}
