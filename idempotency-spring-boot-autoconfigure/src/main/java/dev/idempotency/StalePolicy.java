/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

/**
 * The reaction to a record whose version is lower than the one of its key that completed
 * last.
 *
 * @since 0.1.0
 */
public enum StalePolicy {

	/**
	 * The record is acknowledged. The method does not run, and nothing is replied.
	 */
	SKIP,

	/**
	 * The record is rejected with a {@link IdempotencyVersionStaleException}: the error
	 * handler passes it to its recoverer, for example to a dead-letter topic, without
	 * retries. A record that is redelivered after its operation has completed is
	 * rejected, too, if a higher version has completed since.
	 */
	REJECT

}
