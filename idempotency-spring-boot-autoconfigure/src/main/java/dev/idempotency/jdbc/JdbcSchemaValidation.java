package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;

import javax.sql.DataSource;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * The check that the schema of the store is there.
 *
 * @since 0.1.0
 */
public final class JdbcSchemaValidation {

	private static final String COLUMNS = "id, scope, \"key\", state, fence, attempt, token, fingerprint, lease_until, "
			+ "created_at, expires_at, result, error_type, error_message, completed_at";

	private static final String OUTBOX = "id, position, lane, aggregatetype, aggregateid, type, topic, message_key, payload, "
			+ "headers, idempotency_key, created_at, published_at, attempts, next_attempt_at, set_aside_at, error_type, "
			+ "error_message, blocked_by";

	private JdbcSchemaValidation() {
	}

	/**
	 * Make sure that the single table is there, with all its columns.
	 * @param dataSource the database
	 * @param table the name of the table
	 * @throws IdempotencyConfigurationException if something is missing
	 */
	public static void validate(DataSource dataSource, TableName table) {
		validate(dataSource, table, Layout.SINGLE);
	}

	/**
	 * Make sure that the thread that starts the application reaches a database. Only a
	 * {@link DataSource} that chooses its database by the thread is asked.
	 * @param dataSource the database
	 * @throws IdempotencyConfigurationException if it has none for this thread
	 */
	public static void requireTarget(DataSource dataSource) {
		if (!Databases.isRouting(dataSource)) {
			return;
		}
		try (Connection connection = dataSource.getConnection()) {
			// A lazy proxy opens its connection only now.
			connection.getMetaData();
		}
		catch (IllegalStateException ex) {
			throw new IdempotencyConfigurationException(
					"The DataSource of the idempotency store or the outbox chooses its database by the thread "
							+ "(AbstractRoutingDataSource), and has no database for the thread that starts the application: "
							+ ex.getMessage() + ".",
					"Give it a default with setDefaultTargetDataSource, or name a DataSource that always leads to the same "
							+ "database with 'idempotency.jdbc.data-source'.");
		}
		catch (SQLException ex) {
			// Whatever needs the database next says that it does not answer.
		}
	}

	/**
	 * Make sure that the table is there, with its layout and all its columns.
	 * @param dataSource the database
	 * @param table the name of the table
	 * @param layout how the records are kept
	 * @throws IdempotencyConfigurationException if something is missing
	 */
	public static void validate(DataSource dataSource, TableName table, Layout layout) {
		Dialect dialect = Databases.dialect(dataSource, layout);
		validate(dataSource, table, COLUMNS, dialect.migrations(), (connection) -> {
			dialect.check(connection, table);
			return table;
		});
	}

	/**
	 * Make sure that the tables of an outbox are there, with all their columns, and that
	 * its lanes can be locked.
	 * @param dataSource the database
	 * @param table the name of the table
	 * @throws IdempotencyConfigurationException if something is missing, or a right
	 */
	public static void validateOutbox(DataSource dataSource, TableName table) {
		OutboxSql outbox = Databases.dialect(dataSource, Layout.SINGLE).outbox(table);
		validate(dataSource, table, OUTBOX, List.of(outbox.migrations()), (connection) -> {
			if (Connections.update(connection, outbox.allLanes()) != OutboxSql.LANES) {
				throw new IdempotencyConfigurationException(
						"The table '" + table + "_lane' of the outbox does not have its " + OutboxSql.LANES
								+ " rows, without which nothing is published.",
						"Run the INSERT at the end of the script in '" + outbox.migrations() + "' again.");
			}
			requireLocks(connection, table);
			return table;
		});
	}

	// A relay that may read its lanes but not lock them would find out much later.
	private static void requireLocks(Connection connection, TableName table) {
		try {
			Connections.update(connection, "SELECT lane FROM " + table + "_lane WHERE lane = 0 FOR UPDATE SKIP LOCKED");
		}
		catch (SQLException ex) {
			throw new IdempotencyConfigurationException(
					"The table '" + table + "' cannot be used: its lanes cannot be locked: " + ex.getMessage(),
					"Grant the user of the DataSource SELECT and UPDATE on '" + table + "_lane'.");
		}
	}

	private static void validate(DataSource dataSource, TableName table, String columns, List<String> scripts,
			Connections.Work<TableName> more) {
		try (Connection connection = dataSource.getConnection()) {
			try {
				Connections.update(connection, "SELECT " + columns + " FROM " + table + " WHERE 1 = 0");
				more.on(connection);
			}
			finally {
				// Not every pool does so itself.
				if (!connection.getAutoCommit()) {
					connection.rollback();
				}
			}
		}
		catch (SQLException ex) {
			throw new IdempotencyConfigurationException("The table '" + table + "' cannot be used: " + ex.getMessage(),
					"Set 'idempotency.jdbc.schema' to 'migrate', or run the scripts in '"
							+ String.join("' and '", scripts) + "' yourself.");
		}
	}

}
