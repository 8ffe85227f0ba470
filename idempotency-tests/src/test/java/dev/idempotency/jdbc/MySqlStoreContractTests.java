/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.util.Optional;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;

import dev.idempotency.contract.TransactionalIdempotencyStoreContract;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

/**
 * The contract of {@link JdbcIdempotencyStore} with the driver of MySQL, on the server
 * that the system property {@code test.mysql.url} names, and on MariaDB without it. The
 * driver counts changed rows, and that of MariaDB in its contract counts found rows. It
 * runs in the profile {@code storm}, because {@link MySqlStoreTests} tests the driver.
 */
@Tag("storm")
@EnabledIfSystemProperty(named = "test.storm", matches = ".+", disabledReason = "Part of the profile storm")
class MySqlStoreContractTests extends TransactionalIdempotencyStoreContract {

	// It is not closed: jqwik runs a part of the tests and does not close the
	// resources of Jupiter.
	private static final TestDatabase database = TestDatabase.mySql(Servers.newMySql() + "&useAffectedRows=true");

	@Override
	public JdbcIdempotencyStore store() {
		return database.store();
	}

	@Override
	public Optional<IdempotencyStore> refused() {
		return Optional.of(MariaDbStoreContractTests.reading(database));
	}

	@Override
	public PlatformTransactionManager transactionManager() {
		return new JdbcTransactionManager(database.pool());
	}

}
