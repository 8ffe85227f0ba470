/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.jspecify.annotations.Nullable;

import dev.idempotency.jdbc.RequiredTable.FoundColumn;
import dev.idempotency.jdbc.SqlStatement.RowReader;

/**
 * The schema of a database and the privileges of its user, read at start-up. The methods
 * that have a body are about partitions, which only PostgreSQL supports.
 */
abstract class Catalog {

	private final String migrations;

	private final String columns;

	private final String uniqueColumns;

	private final String identity;

	private final ValueTypes types;

	// Create the catalog with the folder on the class path that contains the migrations
	// of the records, and the statements that read columns, the columns that are unique
	// alone, and the identity of the database, which all its connections share.
	Catalog(String migrations, String columns, String uniqueColumns, String identity, ValueTypes types) {
		this.migrations = migrations;
		this.columns = columns;
		this.uniqueColumns = uniqueColumns;
		this.identity = identity;
		this.types = types;
	}

	final <T> Optional<T> first(Connection connection, String sql, Parameters parameters, RowReader<T> reader)
			throws SQLException {
		return SqlStatement.of(sql, this.types).first(connection, parameters, reader);
	}

	final @Nullable String ask(Connection connection, String sql, Parameters parameters) throws SQLException {
		return first(connection, sql, parameters, (row) -> row.getString(1)).orElse(null);
	}

	static Parameters name(TableName table) {
		return Parameters.of("schema", table.schemaName()).with("name", table.table());
	}

	// Read the columns of tables with one statement.
	Map<String, Map<String, FoundColumn>> columns(Connection connection, TableName table, Object... names)
			throws SQLException {
		Map<String, Map<String, FoundColumn>> found = new HashMap<>();
		Parameters parameters = Parameters.of("schema", table.schemaName()).with("names", "text", names);
		SqlStatement.of(this.columns, this.types).query(connection, parameters, (row) -> {
			String column = row.getString(2);
			return found.computeIfAbsent(row.getString(1), (name) -> new HashMap<>())
				.put(column, new FoundColumn(column, row.getString(3), row.getBoolean(4), row.getBoolean(5)));
		});
		return found;
	}

	// Whether the database refuses a second row with the same value of the column.
	final boolean isUnique(Connection connection, TableName table, RequiredTable required) throws SQLException {
		return ask(connection, this.uniqueColumns,
				Parameters.of("schema", table.schemaName())
					.with("name", required.name())
					.with("column", required.identity())) != null;
	}

	final String migrations() {
		return this.migrations;
	}

	Map<String, String> placeholders(TableName table) {
		return Map.of("table", table.toString(), "name", table.table());
	}

	// Prepare the history of the migrations.
	void beforeMigration(Connection connection, TableName table) throws SQLException {
	}

	// Find the schema of a table whose name has none.
	abstract @Nullable String schema(Connection connection, TableName table) throws SQLException;

	// Make sure that the database can store every key and every message, and that
	// the table has the configured layout.
	void requireLayout(Connection connection, TableName table) throws SQLException {
	}

	// Make sure that the user may run the statements of the store or the outbox.
	// Tables and functions that do not exist are ignored.
	void requirePrivileges(Connection connection, TableName table, List<RequiredTable> tables) throws SQLException {
	}

	// Make sure that the user may create and drop partitions.
	void requireMaintenance(Connection connection, TableName table) throws SQLException {
	}

	// Make sure that the user may run migrations.
	void requireMigration(Connection connection, TableName table, String scripts) throws SQLException {
	}

	final String databaseIdentity(Connection connection) throws SQLException {
		return String.valueOf(ask(connection, this.identity, Parameters.none()));
	}

	// The alternatives of a user who may not migrate.
	static String otherWaysToMigrate(String scripts) {
		return " with another user, whose DataSource bean is annotated with @FlywayDataSource; or let the owner of the "
				+ "schema run the scripts in '" + scripts + "', and set 'idempotency.jdbc.schema' to 'validate'.";
	}

}
