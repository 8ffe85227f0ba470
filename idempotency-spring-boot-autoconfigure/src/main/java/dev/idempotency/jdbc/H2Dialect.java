package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Set;

import org.jspecify.annotations.Nullable;

/**
 * H2, in its regular mode and with {@code MODE=PostgreSQL}. A claim is two statements,
 * because a MERGE locks a record even when it leaves it alone: one that answers for a
 * record that is not free and locks nothing, and one that checks again under the lock and
 * writes. Either may commit by itself: the second decides, and a key that somebody else
 * inserted meanwhile is an error of the statement, not of the transaction.
 * <p>
 * The time is that of the start of the statement, with {@code MODE=PostgreSQL} that of
 * the transaction: a little early, which takes nothing over too soon. The table of
 * sessions knows better, but fails now and then while other sessions begin and end.
 */
final class H2Dialect implements Dialect {

	private static final String DUPLICATE = "23505";

	// Lock time-out, statement cancelled, deadlock, concurrent update.
	private static final Set<String> CONTENTION = Set.of("HYT00", "57014", "40001", "90131", DUPLICATE);

	// Object or connection closed, database not found or closed, file or memory error.
	private static final Set<String> OUTAGE = Set.of("90007", "90013", "90020", "90028", "90031", "90067", "90098",
			"90108", "90121");

	private static final String INSERT = """
			SELECT id FROM FINAL TABLE (
			  INSERT INTO %1$s (id, scope, "key", state, fence, attempt, fingerprint, created_at, expires_at,
			    completed_at)
			  SELECT i.id, i.scope, i.name, 'C', 1, 1, i.fp, i.n, DATEADD(MILLISECOND, i.retention, i.n), i.n
			  FROM (SELECT CAST(? AS UUID) AS id, CAST(? AS CHARACTER VARYING) AS scope,
			    CAST(? AS CHARACTER VARYING) AS name, CAST(? AS BINARY VARYING) AS fp, CAST(? AS BIGINT) AS retention,
			    CURRENT_TIMESTAMP AS n) i)""";

	private static final String REQUEST = """
			(SELECT CAST(? AS UUID) AS id, CAST(? AS CHARACTER VARYING) AS scope, CAST(? AS CHARACTER VARYING) AS name,
			    CAST(? AS CHARACTER(1)) AS state, CAST(? AS UUID) AS token, CAST(? AS BINARY VARYING) AS fp,
			    CAST(? AS BIGINT) AS lease, CAST(? AS BIGINT) AS retention, CURRENT_TIMESTAMP AS n) i""";

	private static final String FREE = """
			(r.state = 'F' OR (r.state = 'P' AND r.lease_until <= i.n) OR (r.state = 'C' AND r.expires_at <= i.n))""";

	// The token of a claim in a transaction is null and never matches.
	private static final String OWN = "((r.state = 'P' AND r.token = i.token) IS TRUE)";

	private static final String CLAIMABLE = "(%s OR %s)".formatted(FREE, OWN);

	private static final String ANSWER = """
			SELECT r.id, r.state AS outcome, r.fence, r.attempt, r.fingerprint, r.result,
			  DATEDIFF(MILLISECOND, i.n, r.lease_until) AS left_ms
			FROM %2$s JOIN %1$s r ON r.id = i.id WHERE NOT %3$s""";

	private static final String TAKE = """
			SELECT id, 'A' AS outcome, fence, attempt FROM FINAL TABLE (
			  MERGE INTO %1$s r USING %2$s ON r.id = i.id
			  WHEN MATCHED AND %3$s THEN UPDATE SET state = i.state,
			    fence = CASE WHEN %4$s THEN r.fence ELSE r.fence + 1 END,
			    attempt = CASE WHEN %4$s THEN r.attempt WHEN r.state = 'C' THEN 1 ELSE r.attempt + 1 END,
			    token = i.token, fingerprint = i.fp, lease_until = DATEADD(MILLISECOND, i.lease, i.n),
			    expires_at = DATEADD(MILLISECOND, i.retention, i.n), completed_at = CASE WHEN i.state = 'C' THEN i.n END,
			    result = NULL, error_type = NULL, error_message = NULL
			  WHEN NOT MATCHED THEN
			    INSERT (id, scope, "key", state, fence, attempt, token, fingerprint, lease_until, created_at, expires_at, completed_at)
			    VALUES (i.id, i.scope, i.name, i.state, 1, 1, i.token, i.fp, DATEADD(MILLISECOND, i.lease, i.n), i.n,
			      DATEADD(MILLISECOND, i.retention, i.n), CASE WHEN i.state = 'C' THEN i.n END))""";

	private static final String COMPLETE = """
			UPDATE %1$s SET state = 'C', lease_until = NULL,
			  completed_at = CASE WHEN state = 'P' THEN CURRENT_TIMESTAMP ELSE completed_at END,
			  result = CASE WHEN state = 'P' THEN CAST(? AS BINARY VARYING) ELSE result END
			WHERE id = ? AND token = ? AND state IN ('P', 'C')""";

	private static final String STORE_RESULT = "UPDATE %1$s SET result = ? WHERE id = ?";

	private static final String FAIL = """
			UPDATE %1$s SET state = 'F', lease_until = NULL,
			  error_type = CASE WHEN state = 'P' THEN CAST(? AS CHARACTER VARYING) ELSE error_type END,
			  error_message = CASE WHEN state = 'P' THEN CAST(? AS CHARACTER VARYING) ELSE error_message END
			WHERE id = ? AND token = ? AND state IN ('P', 'F')""";

	private static final String FAILURE = """
			(SELECT CAST(? AS UUID) AS id, CAST(? AS CHARACTER VARYING) AS scope, CAST(? AS CHARACTER VARYING) AS name,
			    CAST(? AS BINARY VARYING) AS fp, CAST(? AS BIGINT) AS retention,
			    CAST(? AS CHARACTER VARYING) AS type, CAST(? AS CHARACTER VARYING) AS message,
			    CURRENT_TIMESTAMP AS n) i""";

	private static final String NOTE_FAILURE = """
			MERGE INTO %1$s r USING %2$s
			ON r.id = i.id
			WHEN MATCHED AND %3$s THEN UPDATE SET state = 'F', fence = r.fence + 1, token = NULL, lease_until = NULL,
			  completed_at = NULL, result = NULL, attempt = CASE WHEN r.state = 'C' THEN 1 ELSE r.attempt + 1 END, fingerprint = i.fp,
			  expires_at = DATEADD(MILLISECOND, i.retention, i.n), error_type = i.type, error_message = i.message
			WHEN NOT MATCHED THEN INSERT (id, scope, "key", state, fence, attempt, fingerprint, created_at, expires_at,
			  error_type, error_message)
			  VALUES (i.id, i.scope, i.name, 'F', 1, 1, i.fp, i.n, DATEADD(MILLISECOND, i.retention, i.n), i.type, i.message)""";

	private static final String RELEASE = """
			UPDATE %1$s SET state = 'F', lease_until = NULL,
			  attempt = CASE WHEN state = 'P' THEN attempt - 1 ELSE attempt END
			WHERE id = ? AND token = ? AND state IN ('P', 'F')""";

	private static final String RENEW = """
			UPDATE %1$s SET lease_until = DATEADD(MILLISECOND, CAST(? AS BIGINT), CURRENT_TIMESTAMP)
			WHERE id = ? AND token = ? AND state = 'P'""";

	private static final String RESTORE = """
			MERGE INTO %1$s r USING (SELECT CAST(? AS UUID) AS id, CAST(? AS CHARACTER VARYING) AS scope,
			    CAST(? AS CHARACTER VARYING) AS name, CAST(? AS INTEGER) AS fence, CAST(? AS INTEGER) AS attempt,
			    CAST(? AS UUID) AS token, CAST(? AS BINARY VARYING) AS fp, CAST(? AS BIGINT) AS lease,
			    CAST(? AS BIGINT) AS retention, CURRENT_TIMESTAMP AS n) i
			ON r.id = i.id
			WHEN MATCHED AND r.state = 'P' AND r.token = i.token THEN
			  UPDATE SET lease_until = DATEADD(MILLISECOND, i.lease, i.n)
			WHEN NOT MATCHED THEN
			  INSERT (id, scope, "key", state, fence, attempt, token, fingerprint, lease_until, created_at, expires_at)
			  VALUES (i.id, i.scope, i.name, 'P', i.fence, i.attempt, i.token, i.fp, DATEADD(MILLISECOND, i.lease, i.n), i.n,
			    DATEADD(MILLISECOND, i.retention, i.n))""";

	private static final String FIND = """
			SELECT state, fence, attempt, lease_until, created_at, expires_at, completed_at, error_type, error_message
			FROM %1$s WHERE id = ?""";

	private static final String FORGETTABLE = """
			expires_at <= CURRENT_TIMESTAMP AND NOT (state = 'P' AND lease_until > CURRENT_TIMESTAMP)""";

	private static final String DELETE_EXPIRED = """
			SELECT COUNT(*), MAX(expires_at) FROM OLD TABLE (DELETE FROM %1$s WHERE id IN (
			  SELECT id FROM %1$s WHERE %2$s AND expires_at <= DATEADD(MILLISECOND, -CAST(? AS BIGINT), CURRENT_TIMESTAMP)
			    AND expires_at >= COALESCE(CAST(? AS TIMESTAMP WITH TIME ZONE), expires_at)
			  ORDER BY expires_at FETCH FIRST ? ROWS ONLY FOR UPDATE SKIP LOCKED))""";

	private static final String BACKLOG = """
			SELECT DATEDIFF(MILLISECOND, expires_at, CURRENT_TIMESTAMP)
			FROM %1$s WHERE %2$s ORDER BY expires_at FETCH FIRST ROW ONLY""";

	@Override
	public boolean isToBeConverted(Connection connection, TableName table) {
		return false;
	}

	@Override
	public List<String> migrations() {
		return List.of("dev/idempotency/jdbc/h2");
	}

	@Override
	public OutboxSql outbox(TableName table) {
		return new H2OutboxSql(table);
	}

	@Override
	public Statements statements(TableName table, Duration lockWait) {
		return new Statements(INSERT.formatted(table), claim(table, REQUEST), COMPLETE.formatted(table),
				STORE_RESULT.formatted(table), FAIL.formatted(table), noteFailure(table, FAILURE),
				RELEASE.formatted(table), RENEW.formatted(table), RESTORE.formatted(table), H2Batches.statements(table),
				FIND.formatted(table), DELETE_EXPIRED.formatted(table, FORGETTABLE));
	}

	// It has no lock that another transaction could find taken without waiting.
	@Override
	public String cleanupTurn(TableName table) {
		return "SELECT ? IS NOT NULL";
	}

	@Override
	public String backlog(TableName table) {
		return BACKLOG.formatted(table, FORGETTABLE);
	}

	static List<String> claim(TableName table, String requests) {
		return List.of(ANSWER.formatted(table, requests, CLAIMABLE), TAKE.formatted(table, requests, CLAIMABLE, OWN));
	}

	static String noteFailure(TableName table, String failures) {
		return NOTE_FAILURE.formatted(table, failures, FREE);
	}

	@Override
	public RecordStatements records(TableName table, Duration lockWait) {
		return RecordStatements.ofH2(table);
	}

	// It can only set the isolation of a session.
	@Override
	public @Nullable String readCommitted() {
		return null;
	}

	// Nothing but a lock can keep it from answering.
	@Override
	public int limit(Connection connection, Duration timeout) throws SQLException {
		int previous;
		try (PreparedStatement statement = connection.prepareStatement("SELECT LOCK_TIMEOUT()");
				ResultSet row = statement.executeQuery()) {
			row.next();
			previous = row.getInt(1);
		}
		restore(connection, (int) timeout.toMillis() / 2);
		return previous;
	}

	@Override
	public void restore(Connection connection, int limit) throws SQLException {
		try (PreparedStatement statement = connection.prepareStatement("SET LOCK_TIMEOUT " + limit)) {
			statement.executeUpdate();
		}
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

	// A failed statement leaves its transaction as it was.
	@Override
	public boolean isAborted(SQLException error) {
		return false;
	}

	@Override
	public boolean isAborted(Connection connection) {
		return false;
	}

	@Override
	public Catalog catalog() {
		return new H2Catalog();
	}

	@Override
	public List<String> functions(TableName table) {
		return List.of();
	}

	@Override
	public void check(Connection connection, TableName table) {
	}

	@Override
	public @Nullable String schema(Connection connection, TableName table) throws SQLException {
		return connection.getSchema();
	}

}
