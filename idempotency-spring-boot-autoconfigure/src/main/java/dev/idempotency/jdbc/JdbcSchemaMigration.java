package dev.idempotency.jdbc;

import java.util.Map;

import javax.sql.DataSource;

import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.FlywayException;
import org.flywaydb.core.api.configuration.FluentConfiguration;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * The schema of the store. It has its own migrations and its own history table: the
 * history of the application is neither read nor written.
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
		FluentConfiguration configuration = Flyway.configure(JdbcSchemaMigration.class.getClassLoader())
			.dataSource(dataSource)
			.locations(Databases.dialect(dataSource, layout)
				.migrations()
				.stream()
				.map((folder) -> "classpath:" + folder)
				.toArray(String[]::new))
			.table(table.historyTable())
			.placeholders(Map.of("table", table.toString(), "name", table.table()))
			// The application's tables are there first, and ours must not mind.
			.baselineOnMigrate(true)
			.baselineVersion("0")
			.createSchemas(false)
			// The scripts of a layout have numbers of their own.
			.outOfOrder(true)
			.cleanDisabled(true);
		if (table.schema() != null) {
			configuration.defaultSchema(Databases.storedName(dataSource, table.schema()));
		}
		try {
			configuration.load().migrate();
		}
		catch (FlywayException ex) {
			throw new IdempotencyConfigurationException(
					"The schema of the idempotency table '" + table + "' could not be migrated: " + ex.getMessage(),
					"Add Flyway's module for the database if it is missing, and give the user the right to create "
							+ "tables; or create the table yourself and set 'idempotency.jdbc.schema' to 'validate'.");
		}
	}

}
