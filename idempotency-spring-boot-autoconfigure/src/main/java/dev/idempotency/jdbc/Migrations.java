package dev.idempotency.jdbc;

import java.util.List;
import java.util.Map;

import javax.sql.DataSource;

import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.CoreErrorCode;
import org.flywaydb.core.api.FlywayException;
import org.flywaydb.core.api.configuration.FluentConfiguration;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * Runs the migrations of one of our tables, which have a history table of their own.
 */
final class Migrations {

	private Migrations() {
	}

	static void run(DataSource dataSource, Dialect dialect, TableName table, List<String> folders) {
		TableName qualified = Databases.qualified(dataSource, dialect, table);
		String schema = (qualified.schema() != null) ? Databases.storedName(dataSource, qualified.schema()) : null;
		FluentConfiguration configuration = Flyway.configure(Migrations.class.getClassLoader())
			.dataSource(dataSource)
			.locations(folders.stream().map((folder) -> "classpath:" + folder).toArray(String[]::new))
			.table(table.historyTable())
			.placeholders(Map.of("table", qualified.toString(), "name", table.table()))
			// The application's tables are there first, and ours must not mind.
			.baselineOnMigrate(true)
			.baselineVersion("0")
			.createSchemas(false)
			// The scripts of a layout have numbers of their own. Flyway warns of it.
			.outOfOrder(folders.size() > 1)
			// Its functions follow a new column of the table at once.
			.group(folders.size() > 1)
			// Scripts of a later version, whose instances have started already.
			.ignoreMigrationPatterns("*:future", "*:missing")
			// About as many seconds: another instance may be converting a large table.
			.lockRetryCount(300)
			.cleanDisabled(true);
		if (schema != null) {
			configuration.defaultSchema(schema);
		}
		try {
			migrate(configuration.load());
		}
		catch (FlywayException ex) {
			throw new IdempotencyConfigurationException(
					"The schema of the table '" + table + "' could not be migrated: " + ex.getMessage(),
					"Add Flyway's module for the database if it is missing, and give the user the right to create "
							+ "tables; or create the table yourself and set 'idempotency.jdbc.schema' to 'validate'.");
		}
	}

	// Flyway looks whether its history is there, and then whether the schema is empty. If
	// another instance creates the history in between, it refuses; it is there at the
	// second try. What fails for another reason has a cause or a code.
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

}
