package dev.idempotency.jdbc;

import java.util.List;

import javax.sql.DataSource;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * The schema of the store. It has its own migrations and its own history table: the
 * history of the application is neither read nor written. A name without a schema means
 * the table that the database finds in its search path, and without one a new table in
 * the current schema. A table that was created from the scripts by hand, and has no
 * history, gets one that begins with the last script that it shows.
 *
 * @since 0.1.0
 */
public final class JdbcSchemaMigration {

	private JdbcSchemaMigration() {
	}

	/**
	 * Bring the schema of a single table up to date. Needs Flyway.
	 * @param dataSource the database
	 * @param table the name of the table
	 */
	public static void migrate(DataSource dataSource, TableName table) {
		migrate(dataSource, table, Layout.SINGLE);
	}

	/**
	 * Bring the schema up to date. Needs Flyway.
	 * @param dataSource the database
	 * @param table the name of the table
	 * @param layout how the records are kept
	 * @throws IdempotencyConfigurationException if there is a single table and the layout
	 * is partitioned
	 */
	public static void migrate(DataSource dataSource, TableName table, Layout layout) {
		migrate(dataSource, table, layout, false);
	}

	/**
	 * Bring the schema up to date. Needs Flyway.
	 * @param dataSource the database
	 * @param table the name of the table
	 * @param layout how the records are kept
	 * @param convert whether a single table, also an empty one, may be converted to a
	 * partitioned one; that cannot be undone
	 * @throws IdempotencyConfigurationException if a single table would have to be
	 * converted and may not
	 */
	public static void migrate(DataSource dataSource, TableName table, Layout layout, boolean convert) {
		migrate(dataSource, dataSource, table, layout, convert);
	}

	/**
	 * Bring the schema up to date with a user of its own. Needs Flyway.
	 * @param dataSource the database as the store uses it: its search path finds a table
	 * whose name has no schema
	 * @param migrations the database with a user who may create tables; one that only the
	 * store's user owns is migrated by that user
	 * @param table the name of the table
	 * @param layout how the records are kept
	 * @param convert whether a single table, also an empty one, may be converted to a
	 * partitioned one; that cannot be undone
	 * @throws IdempotencyConfigurationException if a single table would have to be
	 * converted and may not, or if the user of the migrations may not run them
	 */
	public static void migrate(DataSource dataSource, DataSource migrations, TableName table, Layout layout,
			boolean convert) {
		Dialect dialect = Databases.dialect(dataSource, layout);
		if (!convert && Databases.ask(dataSource, (connection) -> dialect.isToBeConverted(connection, table))) {
			throw new IdempotencyConfigurationException(
					"'idempotency.jdbc.layout' is 'partitioned', but the table '" + table
							+ "' exists and is not partitioned. Its conversion cannot be undone.",
					"Set 'idempotency.jdbc.convert' to 'true' to convert it, or 'idempotency.jdbc.layout' to 'single'.");
		}
		new Migrations(dialect, Databases.qualified(dataSource, dialect, table), RequiredTable.ofRecords(table, layout),
				dialect.migrations())
			.run(dataSource, migrations);
	}

	/**
	 * Bring the schema of an outbox up to date. Needs Flyway.
	 * @param dataSource the database
	 * @param table the name of the table
	 */
	public static void migrateOutbox(DataSource dataSource, TableName table) {
		migrateOutbox(dataSource, dataSource, table);
	}

	/**
	 * Bring the schema of an outbox up to date with a user of its own. Needs Flyway.
	 * @param dataSource the database as the outbox uses it: its search path finds a table
	 * whose name has no schema
	 * @param migrations the database with a user who may create tables; one that only the
	 * store's user owns is migrated by that user
	 * @param table the name of the table
	 */
	public static void migrateOutbox(DataSource dataSource, DataSource migrations, TableName table) {
		Dialect dialect = Databases.dialect(dataSource, Layout.SINGLE);
		new Migrations(dialect, Databases.qualified(dataSource, dialect, table), RequiredTable.ofOutbox(table, false),
				List.of(dialect.outbox(table).migrations()))
			.run(dataSource, migrations);
	}

	/**
	 * Whether two {@link DataSource}s lead to the same database, with whatever user.
	 * @param one a database
	 * @param other a database
	 * @return whether it is the same one of the same server
	 */
	public static boolean isSameDatabase(DataSource one, DataSource other) {
		return product(one).equals(product(other)) && database(one).equals(database(other));
	}

	// The other one may be of a kind that the store does not know.
	private static String product(DataSource dataSource) {
		return Databases.ask(dataSource, (connection) -> connection.getMetaData().getDatabaseProductName());
	}

	private static String database(DataSource dataSource) {
		return Databases.ask(dataSource,
				(connection) -> Databases.dialect(connection, Layout.SINGLE).catalog().database(connection));
	}

}
