/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import dev.idempotency.contract.IdempotencyRecordsContract;
import dev.idempotency.testsupport.TestDatabase;

/**
 * Contract tests for the records of {@link JdbcIdempotencyStore} in a partitioned table.
 */
class PartitionedRecordsContractTests extends IdempotencyRecordsContract {

	private static final TestDatabase database = TestDatabase.partitioned();

	static {
		for (int i = 0; i < 4; i++) {
			database.nextPartition();
		}
	}

	@Override
	public JdbcIdempotencyStore store() {
		return database.store();
	}

}
