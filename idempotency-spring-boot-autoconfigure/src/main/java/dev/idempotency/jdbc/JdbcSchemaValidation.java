/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;

import javax.sql.DataSource;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.jdbc.RequiredTable.FoundColumn;

/**
 * Checks that the tables of the store and the outbox exist as the statements need them,
 * and that the database user may use them.
 *
 * @since 0.1.0
 */
public final class JdbcSchemaValidation {

	private JdbcSchemaValidation() {
	}

	/**
	 * Make sure that the table exists with its layout, and that the user of the
	 * {@link DataSource} has the privileges.
	 * @param dataSource the database
	 * @param table the name of the table, with or without a schema
	 * @param layout how the records are kept
	 * @param columns whether the columns must also be able to store a record, and
	 * additional columns need no value
	 * @throws IdempotencyConfigurationException if anything is missing or different
	 * @throws IdempotencyStoreUnavailableException if the database is unavailable
	 */
	public static void validate(DataSource dataSource, String table, Layout layout, boolean columns) {
		TableName name = TableName.of(table);
		DatabaseInspection.ask(dataSource, (connection) -> {
			DatabaseInspection database = DatabaseInspection.of(connection, name, layout);
			// Before the other tables: a table of another layout does not have them.
			database.requireLayout(connection);
			check(connection, database, name, RequiredTable.ofRecords(name, layout),
					database.dialect().catalog().migrations(), columns);
			return database;
		});
	}

	/**
	 * Make sure that the user of the {@link DataSource} may create and drop partitions.
	 * @param dataSource the database
	 * @param table the name of a partitioned table that exists
	 * @throws IdempotencyConfigurationException if a privilege is missing
	 * @throws IdempotencyStoreUnavailableException if the database is unavailable
	 */
	public static void requireMaintenance(DataSource dataSource, String table) {
		DatabaseInspection.ask(dataSource, (connection) -> {
			DatabaseInspection database = DatabaseInspection.of(connection, TableName.of(table), Layout.PARTITIONED);
			database.dialect().catalog().requireMaintenance(connection, database.table());
			return database;
		});
	}

	/**
	 * Make sure that the tables of an outbox exist, that no lane is missing, and that the
	 * user of the {@link DataSource} has the privileges.
	 * @param dataSource the database
	 * @param table the name of the table, with or without a schema
	 * @param onlySends whether other instances publish and delete the messages, so that
	 * the user only needs the privileges to send
	 * @param columns whether the columns must also be able to store a message, and
	 * additional columns need no value
	 * @throws IdempotencyConfigurationException if anything is missing or different
	 * @throws IdempotencyStoreUnavailableException if the database is unavailable
	 */
	public static void validateOutbox(DataSource dataSource, String table, boolean onlySends, boolean columns) {
		TableName name = TableName.of(table);
		DatabaseInspection.ask(dataSource, (connection) -> {
			DatabaseInspection database = DatabaseInspection.of(connection, name, Layout.SINGLE);
			OutboxSql outbox = database.dialect().outbox(database.table());
			check(connection, database, name, RequiredTable.ofOutbox(name, onlySends), outbox.migrations(), columns);
			IdempotencyConfigurationException.check(
					outbox.statement(outbox.allLanes()).update(connection, Parameters.none()) == OutboxSql.LANES,
					"The table '" + name + "_lane' of the outbox does not have its " + OutboxSql.LANES
							+ " rows, without which no message is published.",
					"Run the INSERT at the end of the script in '" + outbox.migrations() + "' again.");
			return database;
		});
	}

	/**
	 * Make sure that a {@link DataSource} that chooses its database by the current thread
	 * has one for the thread that starts the application.
	 * @param dataSource the database
	 * @throws IdempotencyConfigurationException if it has none for this thread
	 */
	public static void requireTarget(DataSource dataSource) {
		if (!DatabaseInspection.isRouting(dataSource)) {
			return;
		}
		try (Connection connection = dataSource.getConnection()) {
			// A lazy proxy opens its connection only at this call.
			connection.getMetaData();
		}
		catch (IllegalStateException ex) {
			throw new IdempotencyConfigurationException(
					"The DataSource of the idempotency store or the outbox chooses its database by the thread "
							+ "(AbstractRoutingDataSource), and has none for the thread that starts the application: "
							+ ex.getMessage() + ".",
					"Set a default with setDefaultTargetDataSource, or name a DataSource that always leads to the same "
							+ "database with 'idempotency.jdbc.data-source'.");
		}
		catch (SQLException ex) {
			// The next check reports that the database is unavailable.
		}
	}

	private static void check(Connection connection, DatabaseInspection database, TableName main,
			List<RequiredTable> tables, String scripts, boolean columns) throws SQLException {
		Catalog catalog = database.dialect().catalog();
		Map<String, Map<String, FoundColumn>> found = catalog.columns(connection, database.table(),
				tables.stream().map(RequiredTable::name).toArray());
		for (RequiredTable table : tables) {
			Map<String, FoundColumn> existing = found.get(table.name());
			if (existing == null) {
				throw unusable(main, table, "it does not exist",
						"Set 'idempotency.jdbc.schema' to 'migrate', or run the scripts in '" + scripts
								+ "' yourself.");
			}
			// MariaDB and MySQL show a column only to a user with a privilege on it.
			if (table == tables.get(0)) {
				catalog.requirePrivileges(connection, database.table(), tables);
			}
			String problems = columns ? table.problems(existing, database.dialect() instanceof MySqlDialect) : "";
			if (!problems.isEmpty()) {
				throw unusable(main, table, problems, "Alter it to match the scripts in '" + scripts
						+ "'. Set 'idempotency.jdbc.schema' to 'migrate' to run those that have not been run.");
			}
			if (table.isIdentified() && !catalog.isUnique(connection, database.table(), table)) {
				throw unusable(main, table,
						"its column '" + table.identity()
								+ "' has no unique index of its own, so that every copy of a record would be processed",
						"Create it as the scripts in '" + scripts
								+ "' do, after the rows with equal values are deleted.");
			}
		}
	}

	private static IdempotencyConfigurationException unusable(TableName main, RequiredTable table, String problem,
			String action) {
		// The name of the table as the user writes it.
		String name = main + table.name().substring(main.table().length());
		return new IdempotencyConfigurationException("The table '" + name + "' cannot be used: " + problem + ".",
				action);
	}

}
