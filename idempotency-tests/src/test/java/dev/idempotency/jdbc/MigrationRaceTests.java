/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.util.Collections;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import javax.sql.DataSource;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

import dev.idempotency.testsupport.Servers;

/**
 * Tests for instances that start at the same time on an empty database.
 */
@Tag("promise-12")
class MigrationRaceTests {

	private static final int INSTANCES = 4;

	private static final ExecutorService EXECUTOR = Executors.newFixedThreadPool(INSTANCES);

	private static final DataSource DATABASE = new DriverManagerDataSource(Servers.newDatabase(),
			Servers.postgres().username(), Servers.postgres().password());

	private final String schema = Servers.unique("schema");

	@AfterAll
	static void shutDown() {
		EXECUTOR.shutdownNow();
	}

	@BeforeEach
	void createSchema() {
		new JdbcTemplate(DATABASE).execute("CREATE SCHEMA " + this.schema);
	}

	@RepeatedTest(3)
	void concurrentInstancesCreateOneTable() throws Exception {
		String table = this.schema + ".records";
		atOnce(() -> JdbcSchemaMigration.migrate(DATABASE, table));
		JdbcSchemaValidation.validate(DATABASE, table, Layout.SINGLE, true);
	}

	@RepeatedTest(3)
	void concurrentInstancesCreateOnePartitionedTable() throws Exception {
		String table = this.schema + ".records";
		atOnce(() -> JdbcSchemaMigration.migrate(DATABASE, DATABASE, table, Layout.PARTITIONED));
		JdbcSchemaValidation.validate(DATABASE, table, Layout.PARTITIONED, true);
	}

	@RepeatedTest(3)
	void concurrentInstancesCreateOneOutbox() throws Exception {
		String table = this.schema + ".outbox";
		atOnce(() -> JdbcSchemaMigration.migrateOutbox(DATABASE, DATABASE, table));
		JdbcSchemaValidation.validateOutbox(DATABASE, table, false, true);
	}

	private static void atOnce(Runnable migration) throws Exception {
		CyclicBarrier start = new CyclicBarrier(INSTANCES);
		Callable<Void> instance = () -> {
			start.await();
			migration.run();
			return null;
		};
		for (Future<Void> ended : EXECUTOR.invokeAll(Collections.nCopies(INSTANCES, instance))) {
			ended.get();
		}
	}

}
