/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

/**
 * The policy for a record without a usable idempotency key.
 *
 * @since 0.1.0
 */
public enum MissingKeyPolicy {

	/**
	 * The default: the policy of {@code idempotency.key.on-missing}; if that is not set,
	 * {@link #OFFSET} for listeners that support it, else {@link #RECORD_COORDINATES}.
	 */
	DEFAULT,

	/**
	 * Topic, partition, offset and timestamp of the record become the key; on the retry
	 * topics of the listener, those of the original record. This protects from redelivery
	 * only, not from a message that was sent twice.
	 */
	RECORD_COORDINATES,

	/**
	 * The offset of the record is compared with that of the last processed record of its
	 * partition, which the transaction of the listener updates. This protects from
	 * redelivery only, like {@link #RECORD_COORDINATES}, but the store keeps one row for
	 * each partition instead of one for each record. It requires transactional mode, a
	 * synchronous method that returns nothing, and records that are processed in the
	 * order of their partition: no retry topics and no asynchronous acknowledgments. A
	 * listener that sets this policy and declares no key compares offsets only, even if
	 * its records have the headers of a key.
	 */
	OFFSET,

	/**
	 * The record is rejected: the error handler of the container passes it to its
	 * recoverer without retries.
	 */
	REJECT,

	/**
	 * The record is processed without protection, and counted.
	 */
	PROCESS

}
