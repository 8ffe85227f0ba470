/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Locale;
import java.util.Set;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.datasource.lookup.AbstractRoutingDataSource;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.jdbc.Dialect.Problem;

/**
 * A database as it was found at start-up.
 *
 * @param dialect its dialect
 * @param table the name of the table with its schema
 * @param isolation the first statement of the store's own transactions, which gives them
 * the isolation that they need: under another one, claims of different keys abort each
 * other. {@code null} if the connections have this isolation
 */
record DatabaseInspection(Dialect dialect, TableName table, @Nullable String isolation) {

	// Ends the start if the server is frozen.
	private static final Duration TIMEOUT = Duration.ofSeconds(10);

	private static final Set<String> MYSQL = Set.of("mariadb", "mysql");

	// The compatibility modes of H2 without LIMIT, with which many statements end.
	private static final Set<String> WITHOUT_LIMIT = Set.of("Derby", "MSSQLServer", "Oracle", "STRICT");

	private static final String H2_MODE = "SELECT SETTING_VALUE FROM INFORMATION_SCHEMA.SETTINGS WHERE SETTING_NAME = 'MODE'";

	// A character of four bytes, and these in UTF-8, twice.
	private static final String SAMPLE = "\uD83D\uDE00";

	private static final String SAMPLE_BYTES = "F09F9880 F09F9880";

	// What a literal contains, whether the server has understood it (a column refuses or
	// replaces the characters otherwise), and what it returns.
	private static final String SETTINGS = """
			SELECT @@sql_mode, @@sql_safe_updates, CONCAT_WS(' ', HEX(:sample), HEX(CONVERT(:sample USING utf8mb4))),
			  CONVERT(:sample USING utf8mb4)""";

	// The first versions with JSON_TABLE and SKIP LOCKED.
	private static final int MIN_MARIADB = 10_006;

	private static final int MIN_MYSQL = 8_000;

	// Whether the current thread determines the database of a new connection.
	static boolean isRouting(DataSource dataSource) {
		try {
			return dataSource.isWrapperFor(AbstractRoutingDataSource.class);
		}
		catch (SQLException | RuntimeException ex) {
			// Some pools cannot unwrap before their first connection.
			return false;
		}
	}

	static DatabaseInspection of(DataSource dataSource, TableName table, Layout layout) {
		return ask(dataSource, (connection) -> of(connection, table, layout));
	}

	static DatabaseInspection of(Connection connection, TableName table, Layout layout) throws SQLException {
		Dialect dialect = dialect(connection, layout);
		TableName qualified = (table.schema() != null) ? table : table.in(dialect.catalog().schema(connection, table));
		return new DatabaseInspection(dialect, qualified,
				(connection.getTransactionIsolation() != Connection.TRANSACTION_READ_COMMITTED)
						? dialect.readCommitted() : null);
	}

	static Dialect dialect(Connection connection, Layout layout) throws SQLException {
		String product = connection.getMetaData().getDatabaseProductName();
		if (product.toLowerCase(Locale.ROOT).contains("postgresql")) {
			return new PostgresDialect(layout);
		}
		boolean mySql = MYSQL.contains(product.toLowerCase(Locale.ROOT));
		if (layout == Layout.PARTITIONED && (mySql || "H2".equals(product))) {
			throw new IdempotencyConfigurationException(product + " does not support the layout 'partitioned'.",
					"Set 'idempotency.jdbc.layout' to 'single', or use PostgreSQL.");
		}
		if (mySql) {
			requireSettings(connection);
			return mySql(connection.getMetaData());
		}
		if ("H2".equals(product)) {
			String mode = SqlStatement.of(H2_MODE)
				.first(connection, Parameters.none(), (row) -> row.getString(1))
				.orElse("");
			IdempotencyConfigurationException.check(!WITHOUT_LIMIT.contains(mode),
					"The JDBC idempotency store and the outbox do not support the mode '" + mode + "' of H2.",
					"Remove MODE from the JDBC URL, or set it to 'PostgreSQL', 'MySQL' or 'MariaDB'.");
			return new H2Dialect();
		}
		throw new IdempotencyConfigurationException(
				"The JDBC idempotency store does not support the database '" + product + "'.",
				"Use PostgreSQL, MariaDB or MySQL (or H2, in tests), or declare your own IdempotencyStore bean.");
	}

	// The statements assign a column from others in a fixed order, and a batch
	// changes records that it selects by a join. A driver replaces characters that
	// the character set of the connection does not have, so different keys of messages
	// could become equal.
	private static void requireSettings(Connection connection) throws SQLException {
		String problem = SqlStatement.of(SETTINGS).first(connection, Parameters.of("sample", SAMPLE), (row) -> {
			IdempotencyConfigurationException.check(
					SAMPLE_BYTES.equals(row.getString(3)) && SAMPLE.equals(row.getString(4)),
					"The connections of the DataSource cannot transfer all characters of idempotency keys.",
					"Remove 'characterEncoding', 'characterSetResults' and 'connectionCollation' from the JDBC URL, "
							+ "or set them to UTF-8 and a collation of utf8mb4. Let no statement change the "
							+ "character set of the session to another one than utf8mb4.");
			return row.getString(1).contains("SIMULTANEOUS_ASSIGNMENT") ? "'sql_mode' contains SIMULTANEOUS_ASSIGNMENT"
					: row.getBoolean(2) ? "'sql_safe_updates' is on" : "";
		}).orElseThrow();
		IdempotencyConfigurationException.check(problem.isEmpty(),
				"The JDBC idempotency store cannot use the connections of its DataSource: " + problem + ".",
				"Change this setting for these connections, for example with 'sessionVariables' in the JDBC URL.");
	}

	// The driver of MySQL reports a MariaDB server as MySQL.
	private static Dialect mySql(DatabaseMetaData server) throws SQLException {
		String version = server.getDatabaseProductVersion();
		boolean mariaDb = "MariaDB".equalsIgnoreCase(server.getDatabaseProductName())
				|| version.toLowerCase(Locale.ROOT).contains("mariadb");
		int number = server.getDatabaseMajorVersion() * 1000 + server.getDatabaseMinorVersion();
		IdempotencyConfigurationException.check(number >= (mariaDb ? MIN_MARIADB : MIN_MYSQL),
				"The JDBC idempotency store does not support the version " + version + " of the server.",
				"Use MariaDB 10.6, MySQL 8.0, or a later version.");
		return new MySqlDialect(mariaDb);
	}

	JdbcExecutor executor(DataSource dataSource, Duration timeout) {
		return new JdbcExecutor(dataSource, this.dialect, this.isolation, timeout);
	}

	boolean hasTable(Connection connection) throws SQLException {
		return !this.dialect.catalog().columns(connection, this.table, this.table.table()).isEmpty();
	}

	// Make sure that an existing table has the configured layout.
	DatabaseInspection requireLayout(Connection connection) throws SQLException {
		if (hasTable(connection)) {
			this.dialect.catalog().requireLayout(connection, this.table);
		}
		return this;
	}

	// The spelling in which the database stores a quoted or lower-case name.
	static String storedName(DataSource dataSource, String name) {
		if (name.startsWith("\"")) {
			return name.substring(1, name.length() - 1);
		}
		return ask(dataSource, (connection) -> connection.getMetaData().storesUpperCaseIdentifiers()
				? name.toUpperCase(Locale.ROOT) : name);
	}

	static <T extends @Nullable Object> T ask(DataSource dataSource, JdbcExecutor.Work<T> query) {
		try (Connection connection = dataSource.getConnection()) {
			int previous = Dialect.limitNetwork(connection, TIMEOUT);
			try {
				return query.on(connection);
			}
			catch (SQLException ex) {
				if (!Problem.isPermanent(ex.getSQLState())) {
					throw ex;
				}
				IdempotencyConfigurationException refused = new IdempotencyConfigurationException(
						"The database of the idempotency store or the outbox refused a statement at start-up: "
								+ ex.getMessage(),
						"Check the options of the JDBC URL, and the privileges of the user.");
				refused.initCause(ex);
				throw refused;
			}
			finally {
				// Not every pool rolls back a returned connection.
				if (!connection.getAutoCommit()) {
					connection.rollback();
				}
				Dialect.restoreNetwork(connection, previous);
			}
		}
		catch (SQLException ex) {
			throw new IdempotencyStoreUnavailableException(
					"The database of the idempotency store or the outbox is unavailable at start-up: "
							+ ex.getMessage(),
					ex);
		}
	}

}
