/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.time.Duration;

import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;

import dev.idempotency.contract.TransactionalIdempotencyStoreContract;
import dev.idempotency.testsupport.TestDatabase;

/**
 * The contract of {@link JdbcIdempotencyStore} on a partitioned table with a column of
 * the application, in a database with a publication for all tables, while new partitions
 * are opened continuously.
 */
class PartitionedStoreContractTests extends TransactionalIdempotencyStoreContract {

	private static final int PARTITIONS = 8;

	private static final TestDatabase database = TestDatabase.partitioned();

	static {
		database.jdbc().execute("ALTER TABLE idempotency_record ADD note text NOT NULL DEFAULT 'none'");
		database.jdbc()
			.execute("CREATE PUBLICATION everything FOR ALL TABLES WITH (publish_via_partition_root = true)");
		for (int i = 0; i < 4; i++) {
			database.nextPartition();
		}
		PartitionMaintenance partitions = new PartitionMaintenance(
				new JdbcExecutor(database.pool(), new PostgresDialect(Layout.PARTITIONED), null, TestDatabase.TIMEOUT),
				TableName.of(TestDatabase.TABLE), Duration.ofMillis(500));
		Thread rotation = new Thread(() -> rotate(partitions));
		rotation.setDaemon(true);
		rotation.start();
	}

	private static void rotate(PartitionMaintenance partitions) {
		for (int opened = 0; opened < PARTITIONS;) {
			opened += "opened".equals(partitions.rotate()) ? 1 : 0;
		}
		// As the maintenance does: a session that has missed the partition in use,
		// because it
		// was reading the catalog when it was attached, reads it again.
		while (!"created".equals(partitions.rotate())) {
			Thread.onSpinWait();
		}
	}

	@Override
	public JdbcIdempotencyStore store() {
		return database.store();
	}

	@Override
	public PlatformTransactionManager transactionManager() {
		return new JdbcTransactionManager(database.pool());
	}

}
