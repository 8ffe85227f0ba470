package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.time.Duration;
import java.util.Locale;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.lookup.AbstractRoutingDataSource;

import dev.idempotency.IdempotencyStoreUnavailableException;

/**
 * Finds out what a database is.
 */
final class Databases {

	// For a question at start-up: a server may be frozen.
	private static final Duration TIMEOUT = Duration.ofSeconds(10);

	private Databases() {
	}

	/**
	 * Whether the database that a connection leads to is chosen when it is opened, by the
	 * thread that opens it.
	 * @param dataSource the database, also behind proxies and pools that can unwrap it
	 * @return whether it has an {@link AbstractRoutingDataSource} inside
	 */
	static boolean isRouting(DataSource dataSource) {
		DataSource target = dataSource;
		while (target instanceof DelegatingDataSource delegating && delegating.getTargetDataSource() != null) {
			target = delegating.getTargetDataSource();
		}
		try {
			return target instanceof AbstractRoutingDataSource || target.isWrapperFor(AbstractRoutingDataSource.class);
		}
		catch (SQLException | RuntimeException ex) {
			// It cannot say, as some pools cannot before their first connection.
			return false;
		}
	}

	static Dialect dialect(DataSource dataSource, Layout layout) {
		return ask(dataSource, (connection) -> dialect(connection, layout));
	}

	static Dialect dialect(Connection connection, Layout layout) throws SQLException {
		return Dialect.of(connection.getMetaData().getDatabaseProductName(), layout);
	}

	static TableName qualified(DataSource dataSource, Dialect dialect, TableName table) {
		return (table.schema() != null) ? table
				: ask(dataSource, (connection) -> qualified(connection, dialect, table));
	}

	static TableName qualified(Connection connection, Dialect dialect, TableName table) throws SQLException {
		return (table.schema() != null) ? table : table.in(dialect.schema(connection, table));
	}

	/**
	 * Find the statement with which our own transactions get the isolation that the
	 * statements of the store need. Under another one, claims of different keys end each
	 * other.
	 * @param dataSource the database
	 * @param dialect its dialect
	 * @return the statement, {@code null} if the default isolation is right
	 */
	static @Nullable String isolation(DataSource dataSource, Dialect dialect) {
		boolean other = ask(dataSource,
				(connection) -> connection.getTransactionIsolation() != Connection.TRANSACTION_READ_COMMITTED);
		return other ? dialect.readCommitted() : null;
	}

	// How the database keeps a name that is not quoted; the argument is in lower case.
	static String storedName(DataSource dataSource, String name) {
		if (name.startsWith("\"")) {
			return name.substring(1, name.length() - 1);
		}
		return ask(dataSource, (connection) -> connection.getMetaData().storesUpperCaseIdentifiers()
				? name.toUpperCase(Locale.ROOT) : name);
	}

	static <T extends @Nullable Object> T ask(DataSource dataSource, Connections.Work<T> question) {
		try (Connection connection = dataSource.getConnection()) {
			int previous = limit(connection);
			try {
				return question.on(connection);
			}
			finally {
				// Not every pool does so itself.
				if (!connection.getAutoCommit()) {
					connection.rollback();
				}
				if (previous >= 0) {
					connection.setNetworkTimeout(Runnable::run, previous);
				}
			}
		}
		catch (SQLException ex) {
			throw new IdempotencyStoreUnavailableException(
					"The database of the idempotency store or the outbox does not answer at start-up: "
							+ ex.getMessage(),
					ex);
		}
	}

	private static int limit(Connection connection) throws SQLException {
		try {
			int previous = connection.getNetworkTimeout();
			connection.setNetworkTimeout(Runnable::run, (int) TIMEOUT.toMillis());
			return previous;
		}
		catch (SQLFeatureNotSupportedException ex) {
			return -1;
		}
	}

}
