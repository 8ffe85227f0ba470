package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Set;

import org.postgresql.core.BaseConnection;
import org.postgresql.core.TransactionState;
import org.postgresql.util.PSQLException;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.ClassUtils;

/**
 * PostgreSQL. A statement for one record that may wait for a lock is limited by a
 * {@link StatementLimit}. One for several records, and each of a partitioned table, sets
 * {@code lock_timeout} for itself and restores the session's value when it succeeds;
 * otherwise a rollback restores it. Times are {@code clock_timestamp()}, because
 * {@code now()} is constant within a transaction.
 */
final class PostgresDialect implements Dialect {

	// The partition was dropped after the claim had read which one to fill.
	private static final String PARTITION_GONE = "23514";

	private static final String LOCK_NOT_AVAILABLE = "55P03";

	// Lock not available, serialization failure, deadlock.
	private static final Set<String> CONTENTION = Set.of(LOCK_NOT_AVAILABLE, "40001", "40P01");

	private static final String CANCELLED = "57014";

	private static final String DENIED = "42501";

	private static final String ABORTED = "25P02";

	// Also after a failover, when the server is no longer the primary.
	private static final String READ_ONLY = "25006";

	// The functions of a partitioned table raise it for an isolation other than READ
	// COMMITTED. Pools would close the connection at 0A000.
	private static final String ISOLATION = "25004";

	// Connection, resources, operator intervention, system.
	private static final List<String> OUTAGE = List.of("08", "53", "57", "58");

	// The timeout ends the cleanup turn of a host that is gone or frozen. A shorter
	// one of the server would end the pause.
	private static final String CLEANUP_TURN = """
			SELECT pg_try_advisory_xact_lock(hashtext('dev.idempotency.cleanup'), hashoid('%1$s'::regclass)),
			  set_config('idle_in_transaction_session_timeout', :silence, true)""";

	private static final boolean DRIVER = ClassUtils.isPresent("org.postgresql.core.BaseConnection",
			PostgresDialect.class.getClassLoader());

	private final Layout layout;

	PostgresDialect(Layout layout) {
		this.layout = layout;
	}

	@Override
	public RecordSql records(TableName table, Duration lockWait) {
		return (this.layout == Layout.PARTITIONED) ? PartitionedRecordSql.of(table, lockWait)
				: PostgresRecordSql.single(table, lockWait);
	}

	@Override
	public OutboxSql outbox(TableName table) {
		return new PostgresOutboxSql(table);
	}

	@Override
	public OffsetSql offsets(TableName table, Duration lockWait) {
		return OffsetSql.postgres(table, new StatementLimit(lockWait));
	}

	@Override
	public Catalog catalog() {
		return new PostgresCatalog(this.layout);
	}

	@Override
	public String cleanupTurn(TableName table) {
		return CLEANUP_TURN.formatted(table);
	}

	@Override
	public String readCommitted() {
		return "SET TRANSACTION ISOLATION LEVEL READ COMMITTED";
	}

	// The statements for PostgreSQL return a row instead.
	@Override
	public boolean isDuplicate(SQLException error) {
		return false;
	}

	@Override
	public boolean isContention(SQLException error) {
		String state = error.getSQLState();
		if (CANCELLED.equals(state)) {
			return !DRIVER || Driver.waitedForRow(error);
		}
		return state != null
				&& (CONTENTION.contains(state) || (this.layout == Layout.PARTITIONED && state.equals(PARTITION_GONE)));
	}

	// The error of a connection that its pool has closed has no state.
	@Override
	public boolean isOutage(SQLException error) {
		String state = error.getSQLState();
		return state == null || OUTAGE.stream().anyMatch(state::startsWith);
	}

	@Override
	public boolean isDenied(SQLException error) {
		return DENIED.equals(error.getSQLState());
	}

	@Override
	public boolean isPermanent(SQLException error) {
		return READ_ONLY.equals(error.getSQLState()) ? TransactionSynchronizationManager.isCurrentTransactionReadOnly()
				: Dialect.super.isPermanent(error);
	}

	@Override
	public boolean isLocked(SQLException error) {
		return LOCK_NOT_AVAILABLE.equals(error.getSQLState());
	}

	@Override
	public boolean isIsolation(SQLException error) {
		return ISOLATION.equals(error.getSQLState());
	}

	@Override
	public boolean isAborted(SQLException error) {
		return ABORTED.equals(error.getSQLState());
	}

	@Override
	public boolean isAborted(Connection connection) throws SQLException {
		return DRIVER && Driver.isAborted(connection);
	}

	/**
	 * Reads from the driver what JDBC does not tell. It is a class of its own, because
	 * the driver is optional.
	 */
	private static final class Driver {

		// While a statement waits for the transaction that has written a row, the server
		// adds to an error which row it is. A cancelled statement without that was slow
		// or waited for the table: the database is not available.
		private static boolean waitedForRow(SQLException error) {
			return !(error instanceof PSQLException cancelled) || cancelled.getServerErrorMessage() == null
					|| cancelled.getServerErrorMessage().getWhere() != null;
		}

		private static boolean isAborted(Connection connection) throws SQLException {
			return connection.isWrapperFor(BaseConnection.class)
					&& connection.unwrap(BaseConnection.class).getTransactionState() == TransactionState.FAILED;
		}

	}

}
