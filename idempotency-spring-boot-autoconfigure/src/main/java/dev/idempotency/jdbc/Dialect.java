package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * What differs between databases: the statements, the migrations, the meaning of an
 * error. A further database is a further implementation and a folder of migrations.
 */
interface Dialect {

	/**
	 * Whether the migrations would change the layout of a table that exists, which cannot
	 * be undone.
	 * @param connection a connection
	 * @param table the table, which need not exist
	 * @return whether it exists with another layout
	 * @throws SQLException if the database does not answer
	 */
	boolean isToBeConverted(Connection connection, TableName table) throws SQLException;

	/**
	 * The folders on the class path that hold the migrations.
	 * @return the folders, the migrations of all of which are run in the order of their
	 * versions
	 */
	List<String> migrations();

	/**
	 * The statements and the migrations of an outbox.
	 * @param table the table
	 * @return what differs
	 */
	OutboxSql outbox(TableName table);

	/**
	 * The statements for a table.
	 * @param table the table
	 * @param lockWait how long a statement may wait for a lock
	 * @return the statements
	 */
	Statements statements(TableName table, Duration lockWait);

	/**
	 * The statements for people.
	 * @param table the table
	 * @param lockWait how long a statement may wait for a lock
	 * @return the statements
	 */
	RecordStatements records(TableName table, Duration lockWait);

	/**
	 * The statement that takes the turn to clean up until its transaction ends, without
	 * waiting. Parameter: how many milliseconds the transaction may be silent, as text.
	 * Column: whether it was free.
	 * @param table the table
	 * @return the statement
	 */
	String cleanupTurn(TableName table);

	/**
	 * The statement that finds the oldest row that may be deleted. Column: for how many
	 * milliseconds.
	 * @param table the table
	 * @return the statement
	 */
	String backlog(TableName table);

	/**
	 * The first statement of a transaction that is to be READ COMMITTED.
	 * @return the statement, {@code null} if the store works under every isolation
	 */
	@Nullable String readCommitted();

	/**
	 * Limit the time of the statements to come.
	 * @param connection their connection
	 * @param timeout how long they may take
	 * @return the limit until now
	 * @throws SQLException if that is not possible
	 */
	int limit(Connection connection, Duration timeout) throws SQLException;

	/**
	 * Put a limit back.
	 * @param connection the connection
	 * @param limit the limit
	 * @throws SQLException if that is not possible
	 */
	void restore(Connection connection, int limit) throws SQLException;

	/**
	 * Whether a claim failed because somebody else inserted the record meanwhile.
	 * @param error the error
	 * @return whether the record is there now, and the transaction goes on
	 */
	boolean isDuplicate(SQLException error);

	/**
	 * Whether one of our statements failed because of a concurrent transaction, so that
	 * the delivery has to be repeated in a new one.
	 * @param error the error
	 * @return whether it is about concurrency
	 */
	boolean isContention(SQLException error);

	/**
	 * Whether the database serves nobody now, at least on this connection: the connection
	 * is gone, or the server lacks resources or is shut down.
	 * @param error the error
	 * @return {@code false} if the database has refused this statement only
	 */
	boolean isOutage(SQLException error);

	/**
	 * Whether one of our statements failed because an earlier one of the same transaction
	 * had.
	 * @param error the error
	 * @return whether the transaction is good for nothing but a rollback
	 */
	boolean isAborted(SQLException error);

	/**
	 * Whether the database would answer a commit with a rollback, because a statement of
	 * the transaction has failed. Costs no round trip.
	 * @param connection the connection of the transaction
	 * @return whether it is known that nothing would be committed
	 * @throws SQLException if the connection cannot be asked
	 */
	boolean isAborted(Connection connection) throws SQLException;

	/**
	 * The catalog of the database.
	 * @return the catalog
	 */
	Catalog catalog();

	/**
	 * The last migration of the records that a table shows.
	 * @param connection a connection
	 * @param table the table
	 * @param version the last one whose columns it has, 0 if there is no table
	 * @return that version, or a later one that creates something else
	 * @throws SQLException if the database does not answer
	 */
	default int version(Connection connection, TableName table, int version) throws SQLException {
		return version;
	}

	/**
	 * The functions that the statements call.
	 * @param table the table
	 * @return their names, without a schema
	 */
	List<String> functions(TableName table);

	/**
	 * Make sure that the database can keep every key and every message, and that the
	 * table has the layout.
	 * @param connection a connection
	 * @param table the table, which exists
	 * @throws SQLException if the database does not answer
	 * @throws IdempotencyConfigurationException if it cannot
	 */
	void check(Connection connection, TableName table) throws SQLException;

	/**
	 * Find the schema of a table whose name has none.
	 * @param connection a connection
	 * @param table the table
	 * @return the schema in which the connection finds the table, else its current one,
	 * {@code null} if it has none
	 * @throws SQLException if the database does not answer
	 */
	@Nullable String schema(Connection connection, TableName table) throws SQLException;

	static Dialect of(String productName, Layout layout) {
		if (productName.toLowerCase(Locale.ROOT).contains("postgresql")) {
			return new PostgresDialect(layout);
		}
		if ("H2".equals(productName) && layout == Layout.PARTITIONED) {
			throw new IdempotencyConfigurationException("H2 has no partitions.",
					"Set 'idempotency.jdbc.layout' to 'single', or use PostgreSQL.");
		}
		if ("H2".equals(productName)) {
			return new H2Dialect();
		}
		throw new IdempotencyConfigurationException(
				"The JDBC idempotency store does not know the database '" + productName + "'.",
				"Use PostgreSQL (or H2, in tests), or declare an IdempotencyStore bean of your own.");
	}

}
