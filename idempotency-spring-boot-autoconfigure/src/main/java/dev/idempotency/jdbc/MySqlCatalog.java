/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * The catalog of MariaDB and MySQL, in which a schema is a database. It finds out the
 * privileges of the user with EXPLAIN, which needs those of the statement that it
 * explains, because a role or a pattern may contain them.
 */
final class MySqlCatalog extends Catalog {

	private static final String COLUMNS = """
			SELECT LOWER(TABLE_NAME), LOWER(COLUMN_NAME),
			  CASE WHEN DATA_TYPE IN ('binary', 'datetime') THEN COLUMN_TYPE ELSE DATA_TYPE END, IS_NULLABLE = 'NO',
			  COLUMN_DEFAULT IS NOT NULL OR EXTRA LIKE '%auto_increment%' OR EXTRA LIKE '%GENERATED%'
			FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = :schema AND JSON_CONTAINS(:names, JSON_QUOTE(LOWER(TABLE_NAME)))""";

	private static final String UNIQUE = """
			SELECT 1 FROM information_schema.STATISTICS
			WHERE TABLE_SCHEMA = :schema AND LOWER(TABLE_NAME) = :name AND NON_UNIQUE = 0 GROUP BY INDEX_NAME
			HAVING COUNT(*) = 1 AND LOWER(MAX(COLUMN_NAME)) = :column AND MAX(SUB_PART) IS NULL LIMIT 1""";

	private static final String ENGINE = """
			SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = :schema AND TABLE_NAME = :name""";

	private static final String PADDED = """
			SELECT GROUP_CONCAT(COLUMN_NAME) FROM information_schema.COLUMNS
			WHERE TABLE_SCHEMA = :schema AND TABLE_NAME = :name AND COLUMN_NAME IN ('scope', 'key')
			  AND COLLATION_NAME NOT IN ('utf8mb4_nopad_bin', 'utf8mb4_0900_bin')""";

	private final boolean mariaDb;

	MySqlCatalog(boolean mariaDb) {
		super("dev/idempotency/jdbc/mysql", COLUMNS, UNIQUE,
				"SELECT CONCAT_WS(' ', @@hostname, @@port, @@datadir, DATABASE())", MySqlTypes.INSTANCE);
		this.mariaDb = mariaDb;
	}

	@Override
	Map<String, String> placeholders(TableName table) {
		return Map.of("table", table.withBackticks(), "name", table.table(), "collation",
				this.mariaDb ? "utf8mb4_nopad_bin" : "utf8mb4_0900_bin");
	}

	@Override
	@Nullable String schema(Connection connection, TableName table) throws SQLException {
		return ask(connection, "SELECT DATABASE()", Parameters.none());
	}

	@Override
	void requireLayout(Connection connection, TableName table) throws SQLException {
		String engine = ask(connection, ENGINE, name(table));
		IdempotencyConfigurationException.check("InnoDB".equalsIgnoreCase(engine),
				"The idempotency table '" + table.table() + "' has the storage engine " + engine
						+ ", which has no transactions or no row locks.",
				"Run ALTER TABLE " + table.withBackticks() + " ENGINE = InnoDB.");
		String padded = ask(connection, PADDED, name(table));
		IdempotencyConfigurationException.check(padded == null,
				"The columns " + padded + " of the idempotency table '" + table.table()
						+ "' have a collation in which different keys are equal.",
				"Alter them to the collation utf8mb4_nopad_bin (MariaDB) or utf8mb4_0900_bin (MySQL).");
	}

	@Override
	void requirePrivileges(Connection connection, TableName table, List<RequiredTable> tables) throws SQLException {
		List<String> lacking = new ArrayList<>();
		String user = account(connection);
		for (RequiredTable required : tables) {
			String name = table.withBackticks() + required.name().substring(table.table().length());
			String column = "`" + required.columns().get(0).name() + "`";
			List<String> denied = required.privileges()
				.stream()
				.filter((privilege) -> isDenied(connection, "EXPLAIN " + using(privilege).formatted(name, column)))
				.toList();
			if (!denied.isEmpty()) {
				lacking.add(String.join(", ", denied) + " ON " + name);
			}
		}
		IdempotencyConfigurationException.check(lacking.isEmpty(),
				"The database user " + user + " lacks privileges that the idempotency store or the outbox needs: "
						+ String.join("; ", lacking) + ".",
				"Run this as an administrator: " + lacking.stream()
					.map((privileges) -> "GRANT " + privileges + " TO " + user + ";")
					.collect(Collectors.joining(" ")));
	}

	private static String using(String privilege) {
		return switch (privilege) {
			case "INSERT" -> "INSERT INTO %1$s (%2$s) VALUES (NULL)";
			case "UPDATE" -> "UPDATE %1$s SET %2$s = NULL WHERE FALSE";
			case "DELETE" -> "DELETE FROM %1$s WHERE FALSE";
			default -> "SELECT %2$s FROM %1$s WHERE FALSE";
		};
	}

	private static boolean isDenied(Connection connection, String statement) {
		try {
			SqlStatement.of(statement).update(connection, Parameters.none());
			return false;
		}
		catch (SQLException ex) {
			return MySqlDialect.DENIED.contains(ex.getErrorCode());
		}
	}

	// 'user'@'host' with quotes.
	private String account(Connection connection) throws SQLException {
		String account = String.valueOf(ask(connection, "SELECT CURRENT_USER()", Parameters.none()));
		int at = account.lastIndexOf('@');
		return (at < 0) ? "'" + account + "'"
				: "'" + account.substring(0, at) + "'@'" + account.substring(at + 1) + "'";
	}

	@Override
	void requireMigration(Connection connection, TableName table, String scripts) throws SQLException {
		IdempotencyConfigurationException.check(table.schemaName() != null,
				"The URL of the DataSource names no database for the table '" + table + "'.",
				"Add the name of the database to the URL, or put it before the name of the table.");
		String exists = ask(connection,
				"SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = :schema", name(table));
		IdempotencyConfigurationException.check(exists != null,
				"The database '" + table.schemaName() + "' of the table '" + table.table() + "' does not exist.",
				"Create it with CREATE DATABASE `" + table.schemaName()
						+ "`, grant the user access to it, or correct the name of the table.");
		// The server checks the privilege before it notices that the other table does not
		// exist. Without the privilege, Flyway would try for ten seconds.
		String creation = "CREATE TABLE %1$s LIKE %1$s_does_not_exist".formatted(history(table));
		if (!hasHistory(connection, table) && isDenied(connection, creation)) {
			String user = account(connection);
			throw new IdempotencyConfigurationException(
					"The database user " + user + " may not create the table '" + table.table() + "' in the database '"
							+ table.schemaName() + "'.",
					"Run GRANT CREATE, SELECT, INSERT, UPDATE, DELETE ON `" + table.schemaName() + "`.* TO " + user
							+ "; or migrate" + otherWaysToMigrate(scripts));
		}
	}

	private boolean hasHistory(Connection connection, TableName table) throws SQLException {
		return ask(connection, ENGINE,
				Parameters.of("schema", table.schemaName()).with("name", table.historyTable())) != null;
	}

	private static String history(TableName table) {
		return table.withBackticks() + TableName.HISTORY;
	}

	// The server commits each DDL statement and keeps a failed migration in the
	// history. Each migration can be run again.
	@Override
	void beforeMigration(Connection connection, TableName table) throws SQLException {
		if (hasHistory(connection, table)) {
			SqlStatement.of("DELETE FROM " + history(table) + " WHERE NOT success")
				.update(connection, Parameters.none());
			if (!connection.getAutoCommit()) {
				connection.commit();
			}
		}
	}

}
