package dev.idempotency.jdbc;

import java.util.List;

import javax.sql.DataSource;

/**
 * The schema of the store. It has its own migrations and its own history table: the
 * history of the application is neither read nor written. A name without a schema means
 * the table that the database finds in its search path, and without one a new table in
 * the current schema.
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
	 * @param layout how the records are kept; a single table is converted to a
	 * partitioned one, and not back
	 */
	public static void migrate(DataSource dataSource, TableName table, Layout layout) {
		Dialect dialect = Databases.dialect(dataSource, layout);
		Migrations.run(dataSource, dialect, table, dialect.migrations());
	}

	/**
	 * Bring the schema of an outbox up to date. Needs Flyway.
	 * @param dataSource the database
	 * @param table the name of the table
	 */
	public static void migrateOutbox(DataSource dataSource, TableName table) {
		Dialect dialect = Databases.dialect(dataSource, Layout.SINGLE);
		Migrations.run(dataSource, dialect, table, List.of(dialect.outbox(table).migrations()));
	}

}
