package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;

import javax.sql.DataSource;

import dev.idempotency.IdempotencyStoreUnavailableException;

/**
 * Finds out what a database is.
 */
final class Databases {

	private Databases() {
	}

	static Dialect dialect(DataSource dataSource) {
		try (Connection connection = dataSource.getConnection()) {
			return Dialect.of(connection.getMetaData().getDatabaseProductName());
		}
		catch (SQLException ex) {
			throw new IdempotencyStoreUnavailableException(
					"The database of the idempotency store does not answer at start-up; start it, or correct its URL",
					ex);
		}
	}

}
