package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

import javax.sql.DataSource;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * The check that the schema of the store is there.
 *
 * @since 0.1.0
 */
public final class JdbcSchemaValidation {

	private static final String COLUMNS = "id, scope, \"key\", state, fence, attempt, token, fingerprint, lease_until, "
			+ "created_at, expires_at, result, error_type, error_message";

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
	 * Make sure that the table is there, with its layout and all its columns.
	 * @param dataSource the database
	 * @param table the name of the table
	 * @param layout how the records are kept
	 * @throws IdempotencyConfigurationException if something is missing
	 */
	public static void validate(DataSource dataSource, TableName table, Layout layout) {
		Dialect dialect = Databases.dialect(dataSource, layout);
		try (Connection connection = dataSource.getConnection();
				PreparedStatement statement = connection
					.prepareStatement("SELECT " + COLUMNS + " FROM " + table + " WHERE 1 = 0")) {
			statement.executeQuery().close();
			dialect.check(connection, table);
		}
		catch (SQLException ex) {
			throw new IdempotencyConfigurationException(
					"The idempotency table '" + table + "' cannot be used: " + ex.getMessage(),
					"Set 'idempotency.jdbc.schema' to 'migrate', or run the scripts in '"
							+ String.join("' and '", dialect.migrations()) + "' yourself.");
		}
	}

}
