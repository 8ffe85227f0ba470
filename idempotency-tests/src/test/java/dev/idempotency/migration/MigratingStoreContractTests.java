/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.migration;

import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;

import dev.idempotency.contract.TransactionalIdempotencyStoreContract;
import dev.idempotency.memory.InMemoryIdempotencyStore;
import dev.idempotency.store.TransactionalIdempotencyStore;
import dev.idempotency.testsupport.TestDatabase;

/**
 * The contract of a {@link MigratingStore} from an in-memory store to a table.
 */
class MigratingStoreContractTests extends TransactionalIdempotencyStoreContract {

	// It is not closed: jqwik runs a part of the tests and does not close the
	// resources of Jupiter.
	private static final TestDatabase database = TestDatabase.create();

	private static final TransactionalIdempotencyStore store = (TransactionalIdempotencyStore) MigratingStore
		.of(new InMemoryIdempotencyStore(), database.store());

	@Override
	public TransactionalIdempotencyStore store() {
		return store;
	}

	@Override
	public PlatformTransactionManager transactionManager() {
		return new JdbcTransactionManager(database.pool());
	}

}
