/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.util.Optional;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;

import dev.idempotency.contract.TransactionalIdempotencyStoreContract;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.testsupport.TestDatabase;

/**
 * The contract of {@link JdbcIdempotencyStore} on PostgreSQL.
 */
class PostgresStoreContractTests extends TransactionalIdempotencyStoreContract {

	// It is not closed: jqwik runs a part of the tests and does not close the
	// resources of Jupiter.
	private static final TestDatabase database = TestDatabase.create();

	@Override
	public JdbcIdempotencyStore store() {
		return database.store();
	}

	@Override
	public Optional<IdempotencyStore> refused() {
		HikariConfig config = new HikariConfig();
		database.pool().copyStateTo(config);
		config.setMaximumPoolSize(1);
		config.setConnectionInitSql("SET ROLE pg_read_all_data");
		return Optional
			.of(new JdbcIdempotencyStore(new HikariDataSource(config), TestDatabase.TABLE, TestDatabase.TIMEOUT));
	}

	@Override
	public PlatformTransactionManager transactionManager() {
		return new JdbcTransactionManager(database.pool());
	}

}
