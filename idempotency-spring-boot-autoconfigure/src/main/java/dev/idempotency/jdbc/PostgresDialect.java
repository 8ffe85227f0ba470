package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Set;

import org.jspecify.annotations.Nullable;

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

	// Whether a key may be claimed, by what is known about it.
	static final String CLAIMABLE = """
			    (r.id IS NULL OR ((%3$s OR %4$s) AND (r.state = 'C' OR r.fingerprint = i.fp OR r.fingerprint IS NULL OR i.fp IS NULL)))
			      AS claimable
			""";

	// What a claim makes of a record that is still free when it is locked.
	static final String TAKE_OVER = """
			  ON CONFLICT (id) DO UPDATE SET state = excluded.state, fence = CASE WHEN %5$s THEN r.fence ELSE r.fence + 1 END,
			    attempt = CASE WHEN %5$s THEN r.attempt WHEN r.state = 'C' THEN 1 ELSE r.attempt + 1 END,
			    token = excluded.token, fingerprint = excluded.fingerprint,
			    lease_until = clock_timestamp() + (excluded.lease_until - excluded.created_at),
			    expires_at = clock_timestamp() + (excluded.expires_at - excluded.created_at),
			    result = NULL, error_type = NULL, error_message = NULL
			  WHERE (%3$s OR %5$s) AND (r.state = 'C' OR r.fingerprint = excluded.fingerprint OR r.fingerprint IS NULL
			    OR excluded.fingerprint IS NULL)
			""";

	// What a noted failure makes of a free record.
	static final String NOTE_OVER = """
			ON CONFLICT (id) DO UPDATE SET state = 'F', fence = r.fence + 1, token = NULL, lease_until = NULL, result = NULL,
			  attempt = CASE WHEN r.state = 'C' THEN 1 ELSE r.attempt + 1 END, fingerprint = excluded.fingerprint,
			  expires_at = excluded.expires_at, error_type = excluded.error_type, error_message = excluded.error_message
			WHERE %3$s""";

	private static final String INSERT = """
			WITH c AS MATERIALIZED (
			  SELECT current_setting('lock_timeout') AS prev, set_config('lock_timeout', '%2$s', true) AS wait)
			INSERT INTO %1$s (id, scope, key, state, fence, attempt, fingerprint, created_at, expires_at)
			SELECT ?::uuid, ?::text, ?::text, 'C', 1, 1, ?::bytea, clock_timestamp(),
			  clock_timestamp() + ?::bigint * interval '1 ms' FROM c WHERE c.wait IS NOT NULL
			ON CONFLICT (id) DO NOTHING
			RETURNING (SELECT set_config('lock_timeout', c.prev, true) FROM c)""";

	// A record is free when it failed, ran out or expired, and is not known with other
	// content. An owner that repeats its claim
	// keeps its fence. No row: another transaction came between. Answers for a record
	// that
	// is not free touch nothing: no lock, no log.
	private static final String CLAIM = """
			WITH i AS MATERIALIZED (
			  SELECT current_setting('lock_timeout') AS prev, set_config('lock_timeout', '%2$s', true) AS wait,
			    ?::uuid AS id, ?::text AS scope, ?::text AS key, ?::text::"char" AS state, ?::uuid AS token, ?::bytea AS fp,
			    ?::bigint * interval '1 ms' AS lease, ?::bigint * interval '1 ms' AS retention, clock_timestamp() AS n),
			cur AS MATERIALIZED (
			  SELECT i.*, r.state AS known, r.fence, r.attempt, r.fingerprint, r.result, r.lease_until,
			"""
			+ CLAIMABLE + """
					  FROM i LEFT JOIN %1$s r ON r.id = i.id),
					got AS (
					  INSERT INTO %1$s AS r
					    (id, scope, key, state, fence, attempt, token, fingerprint, lease_until, created_at, expires_at)
					  SELECT id, scope, key, state, 1, 1, token, fp, n + lease, n, n + retention
					  FROM cur WHERE claimable AND wait IS NOT NULL
					""" + TAKE_OVER
			+ """
					  RETURNING r.fence, r.attempt, (SELECT set_config('lock_timeout', prev, true) FROM i) AS restored)
					SELECT 'A' AS outcome, fence, attempt, NULL::bytea AS fingerprint, NULL::bytea AS result, NULL::bigint AS left_ms
					FROM got WHERE restored IS NOT NULL
					UNION ALL
					SELECT known::text, fence, attempt, fingerprint, result,
					  ceil(extract(epoch FROM lease_until - clock_timestamp()) * 1000)::bigint
					FROM cur WHERE NOT claimable
					UNION ALL
					SELECT CASE WHEN set_config('lock_timeout', prev, true) IS NOT NULL THEN 'R' END, NULL, NULL, NULL, NULL, NULL
					FROM i WHERE NOT EXISTS (SELECT FROM got) AND NOT EXISTS (SELECT FROM cur WHERE NOT claimable)""";

	private static final String FREE = """
			(r.state = 'F' OR (r.state = 'P' AND r.lease_until <= clock_timestamp())
			      OR (r.state = 'C' AND r.expires_at <= clock_timestamp()))""";

	// The token of a claim in a transaction is null and never matches.
	private static final String OWN = "((r.state = 'P' AND r.token = %s.token) IS TRUE)";

	// Also when it is settled already: an owner may repeat itself after an unclear error,
	// and then changes nothing.
	private static final String COMPLETE = """
			UPDATE %1$s SET state = 'C', lease_until = NULL,
			  result = CASE WHEN state = 'P' THEN ?::bytea ELSE result END
			WHERE id = ? AND token = ? AND state IN ('P', 'C')""";

	private static final String STORE_RESULT = "UPDATE %1$s SET result = ? WHERE id = ?";

	private static final String FAIL = """
			UPDATE %1$s SET state = 'F', lease_until = NULL,
			  error_type = CASE WHEN state = 'P' THEN ?::text ELSE error_type END,
			  error_message = CASE WHEN state = 'P' THEN ?::text ELSE error_message END
			WHERE id = ? AND token = ? AND state IN ('P', 'F')""";

	private static final String NOTE_FAILURE = """
			WITH c AS MATERIALIZED (SELECT set_config('lock_timeout', '%2$s', true) AS wait)
			INSERT INTO %1$s AS r (id, scope, key, state, fence, attempt, fingerprint, created_at, expires_at,
			  error_type, error_message)
			SELECT ?::uuid, ?::text, ?::text, 'F', 1, 1, ?::bytea, clock_timestamp(),
			  clock_timestamp() + ?::bigint * interval '1 ms', ?::text, ?::text FROM c WHERE c.wait IS NOT NULL
			""" + NOTE_OVER;

	private static final String RELEASE = """
			UPDATE %1$s SET state = 'F', lease_until = NULL,
			  attempt = CASE WHEN state = 'P' THEN attempt - 1 ELSE attempt END
			WHERE id = ? AND token = ? AND state IN ('P', 'F')""";

	private static final String RENEW = """
			UPDATE %1$s SET lease_until = clock_timestamp() + ?::bigint * interval '1 ms'
			WHERE id = ? AND token = ? AND state = 'P'""";

	private static final String CLEANUP_TURN = """
			SELECT pg_try_advisory_xact_lock(hashtext('dev.idempotency.cleanup'), hashtext('%1$s'))""";

	// now() because the index cannot be used with clock_timestamp().
	private static final String FORGETTABLE = "expires_at <= now() AND NOT (state = 'P' AND lease_until > now())";

	private static final String DELETE_EXPIRED = """
			WITH batch AS MATERIALIZED (
			  SELECT ctid FROM %1$s WHERE %2$s AND expires_at <= now() - ?::bigint * interval '1 ms'
			    AND expires_at >= coalesce(?::timestamptz, '-infinity')
			  ORDER BY expires_at LIMIT ? FOR UPDATE SKIP LOCKED),
			gone AS (DELETE FROM %1$s WHERE ctid = ANY (ARRAY(SELECT ctid FROM batch)) RETURNING expires_at)
			SELECT count(*), max(expires_at) FROM gone""";

	private static final String BACKLOG = """
			SELECT (extract(epoch FROM clock_timestamp() - expires_at) * 1000)::bigint
			FROM %1$s WHERE %2$s ORDER BY expires_at LIMIT 1""";

	private static final String FIND = """
			SELECT state, fence, attempt, lease_until, created_at, expires_at, error_type, error_message
			FROM %1$s WHERE id = ?""";

	private final Layout layout;

	PostgresDialect(Layout layout) {
		this.layout = layout;
	}

	@Override
	public List<String> migrations() {
		return (this.layout == Layout.PARTITIONED)
				? List.of("dev/idempotency/jdbc/postgresql", "dev/idempotency/jdbc/postgresql-partitioned")
				: List.of("dev/idempotency/jdbc/postgresql");
	}

	@Override
	public Statements statements(TableName table, Duration lockWait) {
		String wait = lockWait.toMillis() + "ms";
		// Of a batch the waits for several keys may add up.
		String batchWait = lockWait.dividedBy(4).toMillis() + "ms";
		Statements single = new Statements(INSERT.formatted(table, wait),
				List.of(CLAIM.formatted(table, wait, FREE, OWN.formatted("i"), OWN.formatted("excluded"))),
				COMPLETE.formatted(table), STORE_RESULT.formatted(table), FAIL.formatted(table),
				NOTE_FAILURE.formatted(table, wait, FREE), RELEASE.formatted(table), RENEW.formatted(table),
				PostgresBatches.statements(table, batchWait, FREE, OWN), FIND.formatted(table),
				DELETE_EXPIRED.formatted(table, FORGETTABLE));
		return (this.layout == Layout.PARTITIONED) ? PostgresPartitions.statements(table, wait, batchWait, single)
				: single;
	}

	@Override
	public RecordStatements records(TableName table, Duration lockWait) {
		return RecordStatements.ofPostgres(table, lockWait);
	}

	@Override
	public String cleanupTurn(TableName table) {
		return CLEANUP_TURN.formatted(table);
	}

	@Override
	public String backlog(TableName table) {
		return BACKLOG.formatted(table, FORGETTABLE);
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

	// Its statements answer without an error.
	@Override
	public boolean isDuplicate(SQLException error) {
		return false;
	}

	@Override
	public boolean isAborted(SQLException error) {
		return "25P02".equals(error.getSQLState());
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

	private static @Nullable String ask(Connection connection, String sql, Object... parameters) throws SQLException {
		try (PreparedStatement statement = Connections.prepare(connection, sql, parameters);
				ResultSet row = statement.executeQuery()) {
			return row.next() ? row.getString(1) : null;
		}
	}

	@Override
	public boolean isContention(SQLException error) {
		String state = error.getSQLState();
		return state != null && CONTENTION.contains(state);
	}

}
