/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;

import dev.idempotency.contract.TransactionalIdempotencyStoreContract;
import dev.idempotency.testsupport.TestDatabase;

/**
 * The contract of {@link JdbcIdempotencyStore} on H2.
 */
class H2StoreContractTests extends TransactionalIdempotencyStoreContract {

	// It is not closed: jqwik runs a part of the tests and does not close the
	// resources of Jupiter.
	private static final TestDatabase database = TestDatabase.h2();

	@Override
	public JdbcIdempotencyStore store() {
		return database.store();
	}

	@Override
	public PlatformTransactionManager transactionManager() {
		return new JdbcTransactionManager(database.pool());
	}

}
