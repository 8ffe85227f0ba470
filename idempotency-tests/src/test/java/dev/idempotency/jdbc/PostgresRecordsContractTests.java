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
 * The contract of the operator's view of {@link JdbcIdempotencyStore} on PostgreSQL.
 */
class PostgresRecordsContractTests extends IdempotencyRecordsContract {

	private static final TestDatabase database = TestDatabase.create();

	@Override
	public JdbcIdempotencyStore store() {
		return database.store();
	}

}
