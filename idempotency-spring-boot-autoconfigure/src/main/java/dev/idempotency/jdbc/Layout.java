/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

/**
 * The layout of the records in the database.
 *
 * @since 0.1.0
 */
public enum Layout {

	/**
	 * A single table.
	 */
	SINGLE,

	/**
	 * A partitioned table, whose expired partitions are dropped as a whole. PostgreSQL
	 * only.
	 */
	PARTITIONED

}
