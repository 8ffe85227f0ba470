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
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

/**
 * The contract of {@link JdbcIdempotencyStore} on MariaDB with its own driver.
 */
class MariaDbStoreContractTests extends TransactionalIdempotencyStoreContract {

	// It is not closed: jqwik runs a part of the tests and does not close the
	// resources of Jupiter.
	private static final TestDatabase database = TestDatabase.mariaDb();

	@Override
	public JdbcIdempotencyStore store() {
		return database.store();
	}

	@Override
	public Optional<IdempotencyStore> refused() {
		return Optional.of(reading(database));
	}

	static IdempotencyStore reading(TestDatabase database) {
		String user = Servers.unique("user");
		database.jdbc().execute("CREATE USER " + user + "@localhost");
		database.jdbc().execute("GRANT SELECT ON " + TestDatabase.TABLE + " TO " + user + "@localhost");
		HikariConfig config = new HikariConfig();
		config.setJdbcUrl(database.url().replace("user=root", "user=" + user));
		config.setMaximumPoolSize(1);
		return new JdbcIdempotencyStore(new HikariDataSource(config), TestDatabase.TABLE, TestDatabase.TIMEOUT);
	}

	@Override
	public PlatformTransactionManager transactionManager() {
		return new JdbcTransactionManager(database.pool());
	}

}
