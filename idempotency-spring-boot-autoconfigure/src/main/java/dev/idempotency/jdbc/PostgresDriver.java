package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;

import org.postgresql.core.BaseConnection;
import org.postgresql.core.TransactionState;

/**
 * What the driver of PostgreSQL knows from the last answer of the server.
 */
final class PostgresDriver {

	private PostgresDriver() {
	}

	static boolean isAborted(Connection connection) throws SQLException {
		return connection.isWrapperFor(BaseConnection.class)
				&& connection.unwrap(BaseConnection.class).getTransactionState() == TransactionState.FAILED;
	}

}
