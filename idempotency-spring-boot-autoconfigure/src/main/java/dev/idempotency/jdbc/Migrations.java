package dev.idempotency.jdbc;

import java.sql.SQLException;
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

	private static final String PRIVILEGE = "42501";

	private final Dialect dialect;

	private final TableName table;

	private final List<RequiredTable> tables;

	private final List<String> folders;

	/**
	 * Create migrations.
	 * @param dialect the database
	 * @param table the main table, with its schema
	 * @param tables what the migrations create
	 * @param folders where the scripts are on the class path
	 */
	Migrations(Dialect dialect, TableName table, List<RequiredTable> tables, List<String> folders) {
		this.dialect = dialect;
		this.table = table;
		this.tables = tables;
		this.folders = folders;
	}

	/**
	 * Run them.
	 * @param store the database as the store uses it
	 * @param migrations the database with the user of the migrations, who leaves a table
	 * to the user of the store that only that one owns
	 */
	void run(DataSource store, DataSource migrations) {
		run((migrations != store && isOfAnother(migrations) && !isOfAnother(store)) ? store : migrations);
	}

	private boolean isOfAnother(DataSource dataSource) {
		return Databases.ask(dataSource, (connection) -> this.dialect.catalog().isOfAnother(connection, this.table));
	}

	private void run(DataSource dataSource) {
		FluentConfiguration configuration = Flyway.configure(Migrations.class.getClassLoader())
			.dataSource(dataSource)
			.locations(this.folders.stream().map((folder) -> "classpath:" + folder).toArray(String[]::new))
			.table(this.table.historyTable())
			.placeholders(Map.of("table", this.table.toString(), "name", this.table.table()))
			// The application's tables are there first, and ours must not mind.
			.baselineOnMigrate(true)
			.baselineVersion(String.valueOf(baseline(dataSource)))
			.createSchemas(false)
			// The scripts of a layout have numbers of their own. Flyway warns of it.
			.outOfOrder(this.folders.size() > 1)
			// Its functions follow a new column of the table at once.
			.group(this.folders.size() > 1)
			// Scripts of a later version, whose instances have started already.
			.ignoreMigrationPatterns("*:future", "*:missing")
			// About as many seconds: another instance may be converting a large table.
			.lockRetryCount(300)
			.cleanDisabled(true);
		if (this.table.schema() != null) {
			configuration.defaultSchema(Databases.storedName(dataSource, this.table.schema()));
		}
		try {
			migrate(configuration.load());
		}
		catch (FlywayException ex) {
			throw failure(ex);
		}
	}

	// Of a table without a history. One that another instance is creating has its history
	// before: Flyway creates that first.
	private int baseline(DataSource dataSource) {
		return Databases.ask(dataSource, (connection) -> {
			this.dialect.catalog().requireMigration(connection, this.table, this.folders);
			int version = RequiredTable.version(this.tables, this.dialect.catalog()
				.columns(connection, this.table, this.tables.stream().map(RequiredTable::name).toList()));
			return this.dialect.version(connection, this.table, version);
		});
	}

	private IdempotencyConfigurationException failure(FlywayException error) {
		for (Throwable cause = error; cause != null; cause = cause.getCause()) {
			if (cause instanceof SQLException refusal && PRIVILEGE.equals(refusal.getSQLState())) {
				return new IdempotencyConfigurationException("The database user may not migrate the table '"
						+ this.table.table() + "': " + refusal.getMessage() + ".",
						"Migrate" + alternatives(this.folders));
			}
		}
		return new IdempotencyConfigurationException(
				"The schema of the table '" + this.table.table() + "' could not be migrated: " + error.getMessage(),
				"Add Flyway's module for the database if it is missing, and give the user the right to create "
						+ "tables; or create the table yourself and set 'idempotency.jdbc.schema' to 'validate'.");
	}

	/**
	 * What else to do where the user may not migrate.
	 * @param folders where the scripts are
	 * @return the end of a sentence
	 */
	static String alternatives(List<String> folders) {
		return " with another user, whose DataSource bean is annotated with @FlywayDataSource; or let the owner of the "
				+ "schema run the scripts in '" + String.join("' and '", folders)
				+ "', and set 'idempotency.jdbc.schema' to 'validate'.";
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
