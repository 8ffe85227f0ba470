/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;

import javax.sql.DataSource;

import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.CoreErrorCode;
import org.flywaydb.core.api.FlywayException;
import org.flywaydb.core.api.configuration.FluentConfiguration;

import dev.idempotency.ExceptionCauses;
import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.jdbc.Dialect.Problem;

/**
 * Creates and updates the tables of the store and the outbox with Flyway. The migrations
 * have their own history table: the history of the application is neither read nor
 * written. A name without a schema means the table that the database finds in its search
 * path, or else a new table in the current schema. A table that was created from the
 * script by hand gets a history that begins with it.
 *
 * @since 0.1.0
 */
public final class JdbcSchemaMigration {

	private JdbcSchemaMigration() {
	}

	/**
	 * Bring the schema of a single table up to date.
	 * @param dataSource the database
	 * @param table the name of the table, with or without a schema
	 */
	public static void migrate(DataSource dataSource, String table) {
		migrate(dataSource, dataSource, table, Layout.SINGLE);
	}

	/**
	 * Bring the schema up to date, with a separate user where that is necessary.
	 * @param dataSource the database as the store uses it: its search path finds a table
	 * whose name has no schema
	 * @param migrations the database with a user who may create and alter the tables
	 * @param table the name of the table, with or without a schema
	 * @param layout how the records are kept
	 * @throws IdempotencyConfigurationException if the table exists with another layout,
	 * or if the user may not run the migrations
	 */
	public static void migrate(DataSource dataSource, DataSource migrations, String table, Layout layout) {
		DatabaseInspection database = DatabaseInspection.of(dataSource, TableName.of(table), layout);
		// Each layout has a history of its own.
		DatabaseInspection.ask(dataSource, database::requireLayout);
		migrate(migrations, database, database.dialect().catalog().migrations());
	}

	/**
	 * Bring the schema of an outbox up to date, with a separate user where that is
	 * necessary.
	 * @param dataSource the database as the outbox uses it: its search path finds a table
	 * whose name has no schema
	 * @param migrations the database with a user who may create and alter the tables
	 * @param table the name of the table, with or without a schema
	 */
	public static void migrateOutbox(DataSource dataSource, DataSource migrations, String table) {
		DatabaseInspection database = DatabaseInspection.of(dataSource, TableName.of(table), Layout.SINGLE);
		migrate(migrations, database, database.dialect().outbox(database.table()).migrations());
	}

	private static void migrate(DataSource dataSource, DatabaseInspection database, String folder) {
		TableName table = database.table();
		Catalog catalog = database.dialect().catalog();
		FluentConfiguration configuration = Flyway.configure(JdbcSchemaMigration.class.getClassLoader())
			.dataSource(dataSource)
			.locations("classpath:" + folder)
			.table(table.historyTable())
			.placeholders(catalog.placeholders(table))
			// The schema already contains the tables of the application.
			.baselineOnMigrate(true)
			.createSchemas(false)
			// Instances of a later version may have started already.
			.ignoreMigrationPatterns("*:future", "*:missing")
			.cleanDisabled(true);
		if (table.schema() != null) {
			configuration.defaultSchema(DatabaseInspection.storedName(dataSource, table.schema()));
		}
		// A table without a history was created by hand. A table that another instance is
		// creating has a history, because Flyway creates that first.
		String baseline = DatabaseInspection.ask(dataSource, (connection) -> {
			catalog.requireMigration(connection, table, folder);
			catalog.beforeMigration(connection, table);
			return database.hasTable(connection) ? "1" : "0";
		});
		configuration.baselineVersion(baseline);
		try {
			migrate(configuration.load());
		}
		catch (FlywayException ex) {
			throw failure(ex, database, folder);
		}
	}

	// Flyway refuses if another instance creates the history after Flyway has looked
	// for it and before it checks whether the schema is empty. The second try finds
	// the history. Other failures have a cause or a code.
	private static void migrate(Flyway flyway) {
		try {
			flyway.migrate();
		}
		catch (FlywayException ex) {
			if (ex.getErrorCode() != CoreErrorCode.ERROR || ex.getCause() != null) {
				throw ex;
			}
			flyway.migrate();
		}
	}

	private static IdempotencyConfigurationException failure(FlywayException error, DatabaseInspection database,
			String folder) {
		String table = database.table().table();
		Throwable refusal = ExceptionCauses.find(error,
				(cause) -> cause instanceof SQLException found && database.dialect().is(Problem.DENIED, found));
		if (refusal != null) {
			return new IdempotencyConfigurationException(
					"The database user may not migrate the table '" + table + "': " + refusal.getMessage() + ".",
					"Migrate" + Catalog.otherWaysToMigrate(folder));
		}
		return new IdempotencyConfigurationException(
				"The schema of the table '" + table + "' could not be migrated: " + error.getMessage(),
				((ExceptionCauses.find(SQLTransientConnectionException.class, error) != null)
						? "Flyway uses two connections at a time: make the database available, and set the size of its pool "
								+ "('spring.datasource.hikari.maximum-pool-size') to 2 or more"
						: "Add Flyway's module for the database if it is missing, and grant the user the right to create "
								+ "tables")
						+ "; or create the table yourself and set 'idempotency.jdbc.schema' to 'validate'.");
	}

	/**
	 * Whether two {@link DataSource}s lead to the same database, with any users.
	 * @param one a database
	 * @param other a database
	 * @return whether it is the same database of the same server
	 */
	public static boolean isSameDatabase(DataSource one, DataSource other) {
		return product(one).equals(product(other)) && identity(one).equals(identity(other));
	}

	// The other database may be one that the store does not support.
	private static String product(DataSource dataSource) {
		return DatabaseInspection.ask(dataSource, (connection) -> connection.getMetaData().getDatabaseProductName());
	}

	private static String identity(DataSource dataSource) {
		return DatabaseInspection.ask(dataSource,
				(connection) -> DatabaseInspection.dialect(connection, Layout.SINGLE)
					.catalog()
					.databaseIdentity(connection));
	}

}
