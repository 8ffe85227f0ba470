package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.util.Locale;

import javax.sql.DataSource;

import dev.idempotency.IdempotencyStoreUnavailableException;

/**
 * Finds out what a database is.
 */
final class Databases {

	private Databases() {
	}

	static Dialect dialect(DataSource dataSource, Layout layout) {
		return ask(dataSource, (metaData) -> Dialect.of(metaData.getDatabaseProductName(), layout));
	}

	// How the database keeps a name that is not quoted; the argument is in lower case.
	static String storedName(DataSource dataSource, String name) {
		return ask(dataSource,
				(metaData) -> metaData.storesUpperCaseIdentifiers() ? name.toUpperCase(Locale.ROOT) : name);
	}

	private static <T> T ask(DataSource dataSource, Question<T> question) {
		try (Connection connection = dataSource.getConnection()) {
			return question.ask(connection.getMetaData());
		}
		catch (SQLException ex) {
			throw new IdempotencyStoreUnavailableException(
					"The database of the idempotency store does not answer at start-up; start it, or correct its URL",
					ex);
		}
	}

	/**
	 * What is asked about a database.
	 *
	 * @param <T> the type of the answer
	 */
	private interface Question<T> {

		T ask(DatabaseMetaData metaData) throws SQLException;

	}

}
