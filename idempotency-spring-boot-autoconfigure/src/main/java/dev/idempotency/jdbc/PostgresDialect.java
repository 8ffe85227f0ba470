package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Set;

import org.jspecify.annotations.Nullable;
import org.springframework.util.ClassUtils;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * PostgreSQL. Every statement that may wait for a lock sets {@code lock_timeout} for
 * itself and puts the session's value back when it succeeds; a rollback does so
 * otherwise. Times are {@code clock_timestamp()}: {@code now()} stands still in a
 * transaction.
 */
final class PostgresDialect implements Dialect {

	// Lock not available, query cancelled, serialization failure, deadlock.
	private static final Set<String> CONTENTION = Set.of("55P03", "57014", "40001", "40P01");

	// Connection, resources, intervention of an operator, system.
	private static final List<String> OUTAGE = List.of("08", "53", "57", "58");

	// Also when it is settled already: an owner may repeat itself after an unclear error,
	// and then changes nothing.
	private static final String COMPLETE = """
			UPDATE %1$s SET state = 'C', lease_until = NULL,
			  completed_at = CASE WHEN state = 'P' THEN clock_timestamp() ELSE completed_at END,
			  result = CASE WHEN state = 'P' THEN ?::bytea ELSE result END
			WHERE id = ? AND token = ? AND state IN ('P', 'C')""";

	private static final String STORE_RESULT = "UPDATE %1$s SET result = ? WHERE id = ?";

	private static final String FAIL = """
			UPDATE %1$s SET state = 'F', lease_until = NULL,
			  error_type = CASE WHEN state = 'P' THEN ?::text ELSE error_type END,
			  error_message = CASE WHEN state = 'P' THEN ?::text ELSE error_message END
			WHERE id = ? AND token = ? AND state IN ('P', 'F')""";

	private static final String RELEASE = """
			UPDATE %1$s SET state = 'F', lease_until = NULL,
			  attempt = CASE WHEN state = 'P' THEN attempt - 1 ELSE attempt END
			WHERE id = ? AND token = ? AND state IN ('P', 'F')""";

	// A record that is alive says so in expires_at, too: a partition goes by it. While
	// that is
	// later anyway the update stays heap-only.
	private static final String RENEW = """
			UPDATE %1$s AS t SET (lease_until, expires_at) = (
			  SELECT l.until, greatest(t.expires_at, l.until) FROM (SELECT clock_timestamp() + ?::bigint * interval '1 ms' AS until) l)
			WHERE id = ? AND token = ? AND state = 'P'""";

	private static final String FIND = """
			SELECT state, fence, attempt, lease_until, created_at, expires_at, completed_at, error_type, error_message
			FROM %1$s WHERE id = ?""";

	private static final boolean DRIVER = ClassUtils.isPresent("org.postgresql.core.BaseConnection",
			PostgresDialect.class.getClassLoader());

	// The partition has been dropped since the claim has read which one is filled.
	private static final String PARTITION_GONE = "23514";

	private final Layout layout;

	PostgresDialect(Layout layout) {
		this.layout = layout;
	}

	@Override
	public boolean isToBeConverted(Connection connection, TableName table) throws SQLException {
		return this.layout == Layout.PARTITIONED && "r"
			.equals(ask(connection, "SELECT relkind FROM pg_class WHERE oid = to_regclass(?)", table.toString()));
	}

	@Override
	public List<String> migrations() {
		return (this.layout == Layout.PARTITIONED)
				? List.of("dev/idempotency/jdbc/postgresql", "dev/idempotency/jdbc/postgresql-partitioned")
				: List.of("dev/idempotency/jdbc/postgresql");
	}

	@Override
	public OutboxSql outbox(TableName table) {
		return new PostgresOutboxSql(table);
	}

	@Override
	public Statements statements(TableName table, Duration lockWait) {
		String wait = lockWait.toMillis() + "ms";
		// Of a batch the waits for several keys may add up.
		String batchWait = lockWait.dividedBy(4).toMillis() + "ms";
		Statements single = new Statements(PostgresClaims.insert(table, wait),
				List.of(PostgresClaims.claim(table, wait)), COMPLETE.formatted(table), STORE_RESULT.formatted(table),
				FAIL.formatted(table), PostgresClaims.noteFailure(table, wait), RELEASE.formatted(table),
				RENEW.formatted(table), PostgresClaims.restore(table, wait),
				PostgresBatches.statements(table, batchWait), FIND.formatted(table),
				PostgresCleanup.deleteExpired(table));
		return (this.layout == Layout.PARTITIONED) ? PostgresPartitions.statements(table, wait, batchWait, single)
				: single;
	}

	@Override
	public RecordStatements records(TableName table, Duration lockWait) {
		return RecordStatements.ofPostgres(table, lockWait);
	}

	@Override
	public String cleanupTurn(TableName table) {
		return PostgresCleanup.turn(table);
	}

	@Override
	public String backlog(TableName table) {
		return PostgresCleanup.backlog(table);
	}

	@Override
	public String readCommitted() {
		return "SET TRANSACTION ISOLATION LEVEL READ COMMITTED";
	}

	@Override
	public int limit(Connection connection, Duration timeout) throws SQLException {
		int previous = connection.getNetworkTimeout();
		connection.setNetworkTimeout(Runnable::run, (int) timeout.toMillis());
		return previous;
	}

	@Override
	public void restore(Connection connection, int limit) throws SQLException {
		connection.setNetworkTimeout(Runnable::run, limit);
	}

	// A pool gives no state to a connection that it has closed.
	@Override
	public boolean isOutage(SQLException error) {
		String state = error.getSQLState();
		return state == null || OUTAGE.stream().anyMatch(state::startsWith);
	}

	// Its statements answer without an error.
	@Override
	public boolean isDuplicate(SQLException error) {
		return false;
	}

	@Override
	public boolean isAborted(SQLException error) {
		return "25P02".equals(error.getSQLState());
	}

	@Override
	public boolean isAborted(Connection connection) throws SQLException {
		return DRIVER && PostgresDriver.isAborted(connection);
	}

	@Override
	public Catalog catalog() {
		return new PostgresCatalog();
	}

	@Override
	public int version(Connection connection, TableName table, int version) throws SQLException {
		return (version == RequiredTable.PARTITIONS
				&& ask(connection, PostgresPartitions.MISSING_FUNCTIONS, table.toString()) == null)
						? PostgresPartitions.VERSION : version;
	}

	@Override
	public List<String> functions(TableName table) {
		return (this.layout == Layout.PARTITIONED) ? PostgresPartitions.functions(table) : List.of();
	}

	// In another encoding a character that it lacks would look like an outage of the
	// store.
	@Override
	public void check(Connection connection, TableName table) throws SQLException {
		String encoding = ask(connection, "SHOW server_encoding");
		if (!"UTF8".equals(encoding)) {
			throw new IdempotencyConfigurationException(
					"The database of the idempotency store has the encoding " + encoding + ".",
					"Use a database with the encoding UTF8.");
		}
		PostgresPartitions.check(this.layout, table,
				"p".equals(ask(connection, "SELECT relkind FROM pg_class WHERE oid = ?::regclass", table.toString())),
				ask(connection, PostgresPartitions.MISSING_FUNCTIONS, table.toString()));
	}

	@Override
	public @Nullable String schema(Connection connection, TableName table) throws SQLException {
		return ask(connection, """
				SELECT coalesce((SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
				  WHERE c.oid = to_regclass(?)), current_schema())""", table.toString());
	}

	private static @Nullable String ask(Connection connection, String sql, Object... parameters) throws SQLException {
		try (PreparedStatement statement = Connections.prepare(connection, sql, parameters);
				ResultSet row = statement.executeQuery()) {
			return row.next() ? row.getString(1) : null;
		}
	}

	@Override
	public boolean isContention(SQLException error) {
		String state = error.getSQLState();
		return state != null
				&& (CONTENTION.contains(state) || (this.layout == Layout.PARTITIONED && state.equals(PARTITION_GONE)));
	}

}
