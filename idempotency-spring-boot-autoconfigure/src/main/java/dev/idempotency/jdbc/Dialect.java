package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Locale;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * What differs between databases: the statements, the migrations, the meaning of an
 * error. A further database is a further implementation and a folder of migrations.
 */
interface Dialect {

	/**
	 * The folder on the class path that holds the migrations.
	 * @return the folder
	 */
	String migrations();

	/**
	 * The statements for a table.
	 * @param table the table
	 * @return the statements
	 */
	Statements statements(TableName table);

	/**
	 * Whether one of our statements failed because of a concurrent transaction, so that
	 * the delivery has to be repeated in a new one.
	 * @param error the error
	 * @return whether it is about concurrency
	 */
	boolean isContention(SQLException error);

	/**
	 * Whether one of our statements failed because an earlier one of the same transaction
	 * had.
	 * @param error the error
	 * @return whether the transaction is good for nothing but a rollback
	 */
	boolean isAborted(SQLException error);

	/**
	 * Make sure that the database can keep every key and every message.
	 * @param connection a connection
	 * @throws SQLException if the database does not answer
	 * @throws IdempotencyConfigurationException if it cannot
	 */
	void check(Connection connection) throws SQLException;

	static Dialect of(String productName) {
		if (productName.toLowerCase(Locale.ROOT).contains("postgresql")) {
			return new PostgresDialect();
		}
		throw new IdempotencyConfigurationException(
				"The JDBC idempotency store does not know the database '" + productName + "'.",
				"Use PostgreSQL, or declare an IdempotencyStore bean of your own.");
	}

}
