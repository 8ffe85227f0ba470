/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

/**
 * The mode in which an operation is protected.
 *
 * @since 0.1.0
 */
public enum Mode {

	/**
	 * The default: {@link #TRANSACTIONAL} where the store can join the transaction of the
	 * handler's database, {@link #LEASED} elsewhere.
	 */
	AUTO,

	/**
	 * The record commits in the same database transaction as the handler's own writes. A
	 * crash at any instant leaves both or neither.
	 */
	TRANSACTIONAL,

	/**
	 * The handler runs under a claim with a lease, for handlers with effects outside the
	 * database of the store. At most one execution is live, and at least one completes.
	 */
	LEASED

}
