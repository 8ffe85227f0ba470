package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.Statement;
import java.time.Duration;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationInProgressException;

/**
 * Runs our statements, each within a time of our own, on the connection of the current
 * transaction or on one that takes no part in it.
 */
final class Connections {

	private static final String NO_TRANSACTION = "The current transaction does not bind a connection of the store's "
			+ "DataSource; name its manager with 'idempotency.jdbc.transaction-manager', or use leased mode";

	// With it a partitioned table refuses another isolation than READ COMMITTED. Not
	// 0A000,
	// at which pools give the connection up.
	private static final String ISOLATION = "25004";

	private static final String ABORTED = "A statement of the handler failed and the handler went on, but its transaction "
			+ "can only be rolled back; let the error pass, or use a savepoint";

	private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

	private final DataSource dataSource;

	private final Dialect dialect;

	private final @Nullable String isolation;

	Connections(DataSource dataSource, Dialect dialect) {
		this(dataSource, dialect, null);
	}

	/**
	 * Create the connections.
	 * @param dataSource the database
	 * @param dialect its dialect
	 * @param isolation the statement that sets the isolation of a transaction that takes
	 * no part in that of the caller, {@code null} if the default of the database is right
	 */
	Connections(DataSource dataSource, Dialect dialect, @Nullable String isolation) {
		this.dataSource = dataSource;
		this.dialect = dialect;
		this.isolation = isolation;
	}

	<T extends @Nullable Object> T inTransaction(Duration timeout, Work<T> work) {
		try {
			// Without a bound connection one would be bound here, committing by itself.
			Assert.state(TransactionSynchronizationManager.hasResource(this.dataSource), NO_TRANSACTION);
			Connection connection = DataSourceUtils.doGetConnection(this.dataSource);
			try {
				Assert.state(!connection.getAutoCommit(), NO_TRANSACTION);
				return limited(connection, timeout, work);
			}
			finally {
				DataSourceUtils.doReleaseConnection(connection, this.dataSource);
			}
		}
		catch (SQLException ex) {
			if (this.dialect.isAborted(ex)) {
				throw new UnexpectedRollbackException(ABORTED, ex);
			}
			throw translate(ex);
		}
	}

	/**
	 * Make sure that the current transaction can be committed. The server answers the
	 * COMMIT of one that cannot with ROLLBACK, which its driver takes for a success.
	 */
	void requireCommittable() {
		if (!TransactionSynchronizationManager.hasResource(this.dataSource)) {
			return;
		}
		try {
			Connection connection = DataSourceUtils.doGetConnection(this.dataSource);
			try {
				if (this.dialect.isAborted(connection)) {
					throw new UnexpectedRollbackException(ABORTED);
				}
			}
			finally {
				DataSourceUtils.doReleaseConnection(connection, this.dataSource);
			}
		}
		catch (SQLException ex) {
			throw translate(ex);
		}
	}

	<T extends @Nullable Object> T autonomous(Duration timeout, Work<T> work) {
		try (Connection connection = connect()) {
			return limited(connection, timeout, (limited) -> committed(limited, work));
		}
		catch (SQLException ex) {
			throw translate(ex);
		}
	}

	// Without a connection nobody is served, whatever the reason is.
	private Connection connect() {
		try {
			return this.dataSource.getConnection();
		}
		catch (SQLException ex) {
			throw unavailable(ex);
		}
	}

	private <T extends @Nullable Object> T committed(Connection connection, Work<T> work) throws SQLException {
		boolean autoCommit = connection.getAutoCommit();
		boolean ownTransaction = !autoCommit || this.isolation != null;
		try {
			if (this.isolation != null) {
				isolate(connection, this.isolation);
			}
			T answer = work.on(connection);
			if (ownTransaction) {
				connection.commit();
			}
			return answer;
		}
		catch (SQLException | RuntimeException | Error ex) {
			if (ownTransaction) {
				rollback(connection, ex);
			}
			throw ex;
		}
		finally {
			if (autoCommit && ownTransaction && !connection.isClosed()) {
				connection.setAutoCommit(true);
			}
		}
	}

	// For the transaction only: behind a pooler, what is set for the session is set for
	// other clients as well.
	private static void isolate(Connection connection, String isolation) throws SQLException {
		if (!connection.getAutoCommit()) {
			// The query with which a pool tests its connections may have begun one.
			connection.rollback();
		}
		connection.setAutoCommit(false);
		try (Statement statement = connection.createStatement()) {
			statement.execute(isolation);
		}
	}

	private <T extends @Nullable Object> T limited(Connection connection, Duration timeout, Work<T> work)
			throws SQLException {
		int previous;
		try {
			previous = this.dialect.limit(connection, timeout);
		}
		catch (SQLFeatureNotSupportedException ex) {
			return work.on(connection);
		}
		try {
			return work.on(connection);
		}
		finally {
			if (!connection.isClosed()) {
				this.dialect.restore(connection, previous);
			}
		}
	}

	// Not every pool does so itself.
	static void rollback(Connection connection, Throwable reason) {
		try {
			connection.rollback();
		}
		catch (SQLException ex) {
			reason.addSuppressed(ex);
		}
	}

	private RuntimeException translate(SQLException ex) {
		if (this.dialect.isContention(ex)) {
			return new OperationInProgressException(
					"A concurrent transaction holds the record, or a deadlock or a serialization failure ended this one "
							+ "(SQL state " + ex.getSQLState() + ")",
					RETRY_AFTER);
		}
		if (this.dialect.isOutage(ex)) {
			return unavailable(ex);
		}
		String refused = "The database refused the statement (SQL state " + ex.getSQLState() + ")";
		if (ISOLATION.equals(ex.getSQLState())) {
			refused += ": " + ex.getMessage() + "; set the isolation of the transaction, or of the DataSource, to READ "
					+ "COMMITTED, or 'idempotency.jdbc.layout' to 'single'";
		}
		return new IdempotencyStoreRefusedException(refused, ex.getSQLState(), ex);
	}

	private static IdempotencyStoreUnavailableException unavailable(SQLException ex) {
		return new IdempotencyStoreUnavailableException(
				"The database did not answer (SQL state " + ex.getSQLState() + ")", ex.getSQLState(), ex);
	}

	static PreparedStatement prepare(Connection connection, String sql, @Nullable Object... parameters)
			throws SQLException {
		PreparedStatement statement = connection.prepareStatement(sql);
		for (int i = 0; i < parameters.length; i++) {
			Object parameter = parameters[i];
			statement.setObject(i + 1, (parameter instanceof ArrayParameter array) ? array.on(connection) : parameter);
		}
		return statement;
	}

	static int update(Connection connection, String sql, @Nullable Object... parameters) throws SQLException {
		try (PreparedStatement statement = Connections.prepare(connection, sql, parameters)) {
			return statement.execute() ? rows(statement.getResultSet()) : statement.getUpdateCount();
		}
	}

	private static int rows(ResultSet changed) throws SQLException {
		int rows = 0;
		while (changed.next()) {
			rows++;
		}
		return rows;
	}

	/**
	 * What is done with a connection.
	 *
	 * @param <T> the type of the answer
	 */
	interface Work<T extends @Nullable Object> {

		T on(Connection connection) throws SQLException;

	}

}
