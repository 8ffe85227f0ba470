package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * The differences between databases while the application runs: the statements, time
 * limits and the meaning of errors. A further database needs an implementation of this
 * interface, a {@link Catalog} and a folder of migrations.
 */
interface Dialect {

	/**
	 * The statements for the records of a table.
	 * @param table the table
	 * @param lockWait how long a statement may wait for a lock
	 * @return the statements
	 */
	RecordSql records(TableName table, Duration lockWait);

	/**
	 * The statements for an outbox.
	 * @param table the table
	 * @return the statements
	 */
	OutboxSql outbox(TableName table);

	/**
	 * The statements for the marks of processed offsets.
	 * @param table the table of the records, which has that of the marks beside it
	 * @param lockWait how long a statement may wait for a lock
	 * @return the statements
	 */
	OffsetSql offsets(TableName table, Duration lockWait);

	/**
	 * The statements for parked records.
	 * @param table the table of the records, which has those of the parked ones beside it
	 * @param lockWait how long a statement may wait for a lock
	 * @return the statements
	 */
	ParkedSql parked(TableName table, Duration lockWait);

	/**
	 * The schema of the database and the privileges of its user.
	 * @return the catalog
	 */
	Catalog catalog();

	/**
	 * The statement that tries to acquire the cleanup turn, without waiting. The turn is
	 * a lock, which the end of the transaction releases. A database that needs no lock
	 * always grants it. Parameter: {@code silence}, how many milliseconds the transaction
	 * may be idle, as text. Column: whether the turn was acquired.
	 * @param table the table
	 * @return the statement
	 */
	String cleanupTurn(TableName table);

	/**
	 * The first statement of a transaction that must be READ COMMITTED.
	 * @return the statement, {@code null} if the store works under every isolation
	 */
	@Nullable String readCommitted();

	/**
	 * Whether a single statement that commits itself needs that isolation, too.
	 * @return {@code false} if it works under every isolation
	 */
	default boolean isolatesStatements() {
		return true;
	}

	/**
	 * Whether a failed claim, or the time limit for its locks, would affect the
	 * transaction of the caller.
	 * @return {@code false} if the database undoes a failed statement and no other one
	 */
	default boolean needsSavepoints() {
		return true;
	}

	/**
	 * How many bytes of results one statement for several records may contain.
	 * @return the number of bytes, above which a batch is divided
	 */
	default long maxResultBytes() {
		return Long.MAX_VALUE;
	}

	/**
	 * How values are bound and read.
	 * @return the types
	 */
	default ValueTypes types() {
		return ValueTypes.STANDARD;
	}

	/**
	 * Limit the time of the following statements. By default it is the network timeout of
	 * the connection.
	 * @param connection the connection
	 * @param timeout how long each statement may take
	 * @return the previous limit
	 * @throws SQLException if the connection does not support it
	 */
	default int limit(Connection connection, Duration timeout) throws SQLException {
		int previous = connection.getNetworkTimeout();
		connection.setNetworkTimeout(Runnable::run, (int) timeout.toMillis());
		return previous;
	}

	/**
	 * Restore the previous limit.
	 * @param connection the connection
	 * @param limit the limit
	 * @throws SQLException if the connection does not support it
	 */
	default void restore(Connection connection, int limit) throws SQLException {
		connection.setNetworkTimeout(Runnable::run, limit);
	}

	/**
	 * Whether a claim failed because another transaction has inserted the record in the
	 * meantime. The current transaction remains usable.
	 * @param error the error
	 * @return whether the record exists now
	 */
	boolean isDuplicate(SQLException error);

	/**
	 * Whether a statement failed because of a concurrent transaction, so that the record
	 * has to be redelivered and processed in a new transaction.
	 * @param error the error
	 * @return whether the error is about concurrency
	 */
	boolean isContention(SQLException error);

	/**
	 * Whether {@linkplain #isContention contention} means that a statement has waited too
	 * long for a lock of another transaction.
	 * @param error the error
	 * @return {@code false} for a deadlock or a serialization failure
	 */
	boolean isLockTimeout(SQLException error);

	/**
	 * Whether the database has rolled back the whole transaction of a failed statement,
	 * so that the next statement begins another one.
	 * @param error the error
	 * @return whether the transaction has ended
	 */
	default boolean endsTransaction(SQLException error) {
		return false;
	}

	/**
	 * Whether a statement of the store's own transactions succeeds when it is run again
	 * at once.
	 * @param error the error
	 * @return whether to run it again
	 */
	default boolean isRepeatable(SQLException error) {
		return false;
	}

	/**
	 * Whether the database is unavailable, at least on this connection: the connection is
	 * closed, or the server lacks resources or shuts down.
	 * @param error the error
	 * @return {@code false} if the database has only refused this statement
	 */
	boolean isOutage(SQLException error);

	/**
	 * Whether a statement failed because an earlier one of the same transaction had
	 * failed.
	 * @param error the error
	 * @return whether the transaction can only be rolled back
	 */
	boolean isAborted(SQLException error);

	/**
	 * Whether the database would roll back at a commit, because a statement of the
	 * transaction has failed. Costs no round trip.
	 * @param connection the connection of the transaction
	 * @return whether it is known that nothing would be committed
	 * @throws SQLException if the state of the connection cannot be read
	 */
	boolean isAborted(Connection connection) throws SQLException;

}
