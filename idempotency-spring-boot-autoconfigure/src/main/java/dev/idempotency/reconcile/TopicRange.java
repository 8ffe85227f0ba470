/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.reconcile;

import java.util.List;

/**
 * A range of the records of a listener's topics, read by one thread.
 *
 * @since 0.1.0
 */
public interface TopicRange extends AutoCloseable {

	/**
	 * Return the number of offsets in the range.
	 * @return the number, an upper limit of the number of records
	 */
	long total();

	/**
	 * Read the next records. Waits for the broker for a short time.
	 * @return the records, empty if none has arrived in time
	 * @throws IllegalStateException if the records cannot be read
	 */
	List<TopicRecord> next();

	/**
	 * Return whether all records of the range were read.
	 * @return whether there is no further record
	 */
	boolean isComplete();

	@Override
	void close();

}
