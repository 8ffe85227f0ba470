package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Set;

import org.jspecify.annotations.Nullable;

/**
 * H2, in its regular mode and with {@code MODE=PostgreSQL}.
 */
final class H2Dialect implements Dialect {

	private static final String DUPLICATE = "23505";

	// Lock time-out, statement cancelled, deadlock, concurrent update.
	private static final Set<String> CONTENTION = Set.of("HYT00", "57014", "40001", "90131", DUPLICATE);

	// Object or connection closed, database not found or closed, file or
	// memory error.
	private static final Set<String> OUTAGE = Set.of("90007", "90013", "90020", "90028", "90031", "90067", "90098",
			"90108", "90121");

	@Override
	public RecordSql records(TableName table, Duration lockWait) {
		return H2RecordSql.of(table);
	}

	@Override
	public OutboxSql outbox(TableName table) {
		return new H2OutboxSql(table);
	}

	@Override
	public Catalog catalog() {
		return new H2Catalog();
	}

	// H2 has no lock that a transaction can try to take without waiting.
	@Override
	public String cleanupTurn(TableName table) {
		return "SELECT :silence IS NOT NULL";
	}

	// H2 can only set the isolation of a session.
	@Override
	public @Nullable String readCommitted() {
		return null;
	}

	// Only a lock can delay a statement of H2.
	@Override
	public int limit(Connection connection, Duration timeout) throws SQLException {
		int previous = SqlStatement.of("SELECT LOCK_TIMEOUT()")
			.first(connection, Parameters.none(), (row) -> row.getInt(1))
			.orElseThrow();
		restore(connection, (int) timeout.toMillis() / 2);
		return previous;
	}

	@Override
	public void restore(Connection connection, int limit) throws SQLException {
		SqlStatement.of("SET LOCK_TIMEOUT " + limit).update(connection, Parameters.none());
	}

	@Override
	public boolean isDuplicate(SQLException error) {
		return DUPLICATE.equals(error.getSQLState());
	}

	@Override
	public boolean isContention(SQLException error) {
		String state = error.getSQLState();
		return state != null && CONTENTION.contains(state);
	}

	@Override
	public boolean isOutage(SQLException error) {
		String state = error.getSQLState();
		return state == null || state.startsWith("08") || OUTAGE.contains(state);
	}

	// A failed statement does not affect its transaction.
	@Override
	public boolean isAborted(SQLException error) {
		return false;
	}

	@Override
	public boolean isAborted(Connection connection) {
		return false;
	}

}
