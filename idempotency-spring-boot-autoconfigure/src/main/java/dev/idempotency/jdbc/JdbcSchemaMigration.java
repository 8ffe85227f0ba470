package dev.idempotency.jdbc;

import java.sql.SQLException;
import java.util.List;

import javax.sql.DataSource;

import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.CoreErrorCode;
import org.flywaydb.core.api.FlywayException;
import org.flywaydb.core.api.configuration.FluentConfiguration;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * Creates and updates the tables of the store and the outbox with Flyway. The migrations
 * have their own history table: the history of the application is neither read nor
 * written. A name without a schema means the table that the database finds in its search
 * path, or else a new table in the current schema. A table that was created from the
 * scripts by hand gets a history that begins with the last script that its columns show.
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
		migrate(dataSource, table, Layout.SINGLE);
	}

	/**
	 * Bring the schema up to date.
	 * @param dataSource the database
	 * @param table the name of the table, with or without a schema
	 * @param layout how the records are kept
	 * @throws IdempotencyConfigurationException if the table exists and is not
	 * partitioned, but the layout is
	 */
	public static void migrate(DataSource dataSource, String table, Layout layout) {
		migrate(dataSource, table, layout, false);
	}

	/**
	 * Bring the schema up to date.
	 * @param dataSource the database
	 * @param table the name of the table, with or without a schema
	 * @param layout how the records are kept
	 * @param convert whether a single table, even an empty one, may be converted to a
	 * partitioned one, which cannot be undone
	 * @throws IdempotencyConfigurationException if a single table would have to be
	 * converted and may not
	 */
	public static void migrate(DataSource dataSource, String table, Layout layout, boolean convert) {
		migrate(dataSource, dataSource, table, layout, convert);
	}

	/**
	 * Bring the schema up to date with a separate user.
	 * @param dataSource the database as the store uses it: its search path finds a table
	 * whose name has no schema
	 * @param migrations the database with a user who may create tables; a table that only
	 * the user of the store owns is migrated by that user
	 * @param table the name of the table, with or without a schema
	 * @param layout how the records are kept
	 * @param convert whether a single table, even an empty one, may be converted to a
	 * partitioned one, which cannot be undone
	 * @throws IdempotencyConfigurationException if a single table would have to be
	 * converted and may not, or if the user may not run the migrations
	 */
	public static void migrate(DataSource dataSource, DataSource migrations, String table, Layout layout,
			boolean convert) {
		migrate(dataSource, migrations, TableName.of(table), layout, convert);
	}

	private static void migrate(DataSource dataSource, DataSource migrations, TableName table, Layout layout,
			boolean convert) {
		Dialect dialect = DatabaseInspection.dialect(dataSource, layout);
		Catalog catalog = dialect.catalog();
		if (!convert
				&& DatabaseInspection.ask(dataSource, (connection) -> catalog.needsConversion(connection, table))) {
			throw new IdempotencyConfigurationException(
					"'idempotency.jdbc.layout' is 'partitioned', but the table '" + table
							+ "' exists and is not partitioned. Its conversion cannot be undone.",
					"Set 'idempotency.jdbc.convert' to 'true' to convert it, or 'idempotency.jdbc.layout' to 'single'.");
		}
		migrate(dataSource, migrations, catalog, DatabaseInspection.qualified(dataSource, dialect, table),
				RequiredTable.ofRecords(table, layout), catalog.migrations());
	}

	/**
	 * Bring the schema of an outbox up to date.
	 * @param dataSource the database
	 * @param table the name of the table, with or without a schema
	 */
	public static void migrateOutbox(DataSource dataSource, String table) {
		migrateOutbox(dataSource, dataSource, table);
	}

	/**
	 * Bring the schema of an outbox up to date with a separate user.
	 * @param dataSource the database as the outbox uses it: its search path finds a table
	 * whose name has no schema
	 * @param migrations the database with a user who may create tables; a table that only
	 * the user of the outbox owns is migrated by that user
	 * @param table the name of the table, with or without a schema
	 */
	public static void migrateOutbox(DataSource dataSource, DataSource migrations, String table) {
		migrateOutbox(dataSource, migrations, TableName.of(table));
	}

	private static void migrateOutbox(DataSource dataSource, DataSource migrations, TableName table) {
		Dialect dialect = DatabaseInspection.dialect(dataSource, Layout.SINGLE);
		migrate(dataSource, migrations, dialect.catalog(), DatabaseInspection.qualified(dataSource, dialect, table),
				RequiredTable.ofOutbox(table, false), List.of(dialect.outbox(table).migrations()));
	}

	private static void migrate(DataSource store, DataSource migrations, Catalog catalog, TableName table,
			List<RequiredTable> tables, List<String> folders) {
		boolean storeOwnsIt = migrations != store && hasOtherOwner(migrations, catalog, table)
				&& !hasOtherOwner(store, catalog, table);
		DataSource dataSource = storeOwnsIt ? store : migrations;
		FluentConfiguration configuration = Flyway.configure(JdbcSchemaMigration.class.getClassLoader())
			.dataSource(dataSource)
			.locations(folders.stream().map((folder) -> "classpath:" + folder).toArray(String[]::new))
			.table(table.historyTable())
			.placeholders(catalog.placeholders(table))
			// The schema already contains the tables of the application.
			.baselineOnMigrate(true)
			.baselineVersion(String.valueOf(baseline(dataSource, catalog, table, tables, folders)))
			.createSchemas(false)
			// Each layout has its own version numbers. Flyway warns about it.
			.outOfOrder(folders.size() > 1)
			// A new column needs the new functions of the layout at once.
			.group(folders.size() > 1)
			// Instances of a later version may have started already.
			.ignoreMigrationPatterns("*:future", "*:missing")
			// About 1 s each: another instance may be converting a large table.
			.lockRetryCount(300)
			.cleanDisabled(true);
		if (table.schema() != null) {
			configuration.defaultSchema(DatabaseInspection.storedName(dataSource, table.schema()));
		}
		DatabaseInspection.ask(dataSource, (connection) -> {
			catalog.beforeMigration(connection, table);
			return table;
		});
		try {
			migrate(configuration.load());
		}
		catch (FlywayException ex) {
			throw failure(ex, catalog, table, folders);
		}
	}

	private static boolean hasOtherOwner(DataSource dataSource, Catalog catalog, TableName table) {
		return DatabaseInspection.ask(dataSource, (connection) -> catalog.hasOtherOwner(connection, table));
	}

	// The version of a table without a history. A table that another instance is
	// creating has a history, because Flyway creates that first.
	private static int baseline(DataSource dataSource, Catalog catalog, TableName table, List<RequiredTable> tables,
			List<String> folders) {
		return DatabaseInspection.ask(dataSource, (connection) -> {
			catalog.requireMigration(connection, table, folders);
			return catalog.version(connection, table,
					RequiredTable.version(tables, catalog.columns(connection, table, tables)));
		});
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

	private static IdempotencyConfigurationException failure(FlywayException error, Catalog catalog, TableName table,
			List<String> folders) {
		for (Throwable cause = error; cause != null; cause = cause.getCause()) {
			if (cause instanceof SQLException refusal && catalog.isDenied(refusal)) {
				return new IdempotencyConfigurationException("The database user may not migrate the table '"
						+ table.table() + "': " + refusal.getMessage() + ".",
						"Migrate" + Catalog.otherWaysToMigrate(folders));
			}
		}
		return new IdempotencyConfigurationException(
				"The schema of the table '" + table.table() + "' could not be migrated: " + error.getMessage(),
				"Add Flyway's module for the database if it is missing, and grant the user the right to create "
						+ "tables; or create the table yourself and set 'idempotency.jdbc.schema' to 'validate'.");
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
