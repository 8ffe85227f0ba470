package dev.idempotency.jdbc;

import java.util.List;

/**
 * The statements of {@link PostgresDialect} for several records. They sort by the id
 * before they lock. A plan may be made while the table is empty and kept when it is not:
 * a limit that nobody knows while planning, and that is none, makes it expect few rows,
 * so that it uses the index.
 */
final class PostgresBatches {

	// As of one key, but the session's lock_timeout is put back when all rows are
	// written:
	// what RETURNING calls, it calls at the first.
	private static final String CLAIM = """
			WITH c AS MATERIALIZED (
			  SELECT current_setting('lock_timeout') AS prev, set_config('lock_timeout', '%2$s', true) AS wait,
			    ?::text::"char" AS state, clock_timestamp() AS n),
			i AS MATERIALIZED (
			  SELECT u.id, u.scope, u.key, c.state, u.token, u.fp, u.lease * interval '1 ms' AS lease,
			    u.retention * interval '1 ms' AS retention, c.n
			  FROM c CROSS JOIN (
			    SELECT * FROM unnest(?::uuid[], ?::text[], ?::text[], ?::uuid[], ?::bytea[], ?::bigint[], ?::bigint[])
			      AS a(id, scope, key, token, fp, lease, retention) LIMIT (SELECT NULL::bigint)) u
			  WHERE c.wait IS NOT NULL),
			cur AS MATERIALIZED (
			  SELECT i.*, r.state AS known, r.fence, r.attempt, r.fingerprint, r.result, r.lease_until,
			""" + PostgresClaims.CLAIMABLE
			+ """
					  FROM i LEFT JOIN %1$s r ON r.id = i.id),
					got AS (
					  INSERT INTO %1$s AS r
					    (id, scope, key, state, fence, attempt, token, fingerprint, lease_until, created_at, expires_at, completed_at)
					  SELECT id, scope, key, state, 1, 1, token, fp, n + lease, n, n + retention, CASE WHEN state = 'C' THEN n END
					  FROM cur WHERE claimable ORDER BY id
					"""
			+ PostgresClaims.TAKE_OVER
			+ """
					  RETURNING r.id, r.fence, r.attempt),
					done AS MATERIALIZED (
					  SELECT set_config('lock_timeout', CASE WHEN g.written >= 0 THEN c.prev END, true) AS restored
					  FROM c CROSS JOIN (SELECT count(*) AS written FROM got) g)
					SELECT id, 'A' AS outcome, fence, attempt, NULL::bytea AS fingerprint, NULL::bytea AS result, NULL::bigint AS left_ms
					FROM got
					UNION ALL
					SELECT id, known::text, fence, attempt, fingerprint, result,
					  ceil(extract(epoch FROM lease_until - clock_timestamp()) * 1000)::bigint
					FROM cur WHERE NOT claimable
					UNION ALL
					SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM done WHERE restored IS NULL""";

	// The records that are the caller's, locked.
	private static final String HELD = """
			WITH c AS MATERIALIZED (SELECT set_config('lock_timeout', '%2$s', true) AS wait),
			held AS MATERIALIZED (
			  SELECT r.id%3$s FROM c
			  CROSS JOIN (SELECT * FROM unnest(?::uuid[], ?::uuid[]%4$s) AS a(id, token%5$s) LIMIT (SELECT NULL::bigint)) u
			  JOIN %1$s r ON r.id = u.id AND r.token = u.token
			  WHERE r.state IN (%6$s) AND c.wait IS NOT NULL ORDER BY r.id FOR UPDATE OF r %7$s)
			""";

	private static final String COMPLETE = """
			UPDATE %1$s AS t SET state = 'C', lease_until = NULL,
			  completed_at = CASE WHEN t.state = 'P' THEN clock_timestamp() ELSE t.completed_at END,
			  result = CASE WHEN t.state = 'P' THEN held.result ELSE t.result END
			FROM held WHERE t.id = held.id RETURNING t.token""";

	private static final String FAIL = """
			UPDATE %1$s AS t SET state = 'F', lease_until = NULL,
			  error_type = CASE WHEN t.state = 'P' THEN ?::text ELSE t.error_type END,
			  error_message = CASE WHEN t.state = 'P' THEN ?::text ELSE t.error_message END
			FROM held WHERE t.id = held.id RETURNING t.token""";

	private static final String RELEASE = """
			UPDATE %1$s AS t SET state = 'F', lease_until = NULL,
			  attempt = CASE WHEN t.state = 'P' THEN t.attempt - 1 ELSE t.attempt END
			FROM held WHERE t.id = held.id RETURNING t.token""";

	private static final String RENEW = """
			UPDATE %1$s AS t SET (lease_until, expires_at) = (
			  SELECT l.until, greatest(t.expires_at, l.until) FROM (SELECT clock_timestamp() + held.lease * interval '1 ms' AS until) l)
			FROM held WHERE t.id = held.id RETURNING t.token""";

	private static final String NOTE_FAILURES = """
			WITH c AS MATERIALIZED (
			  SELECT set_config('lock_timeout', '%2$s', true) AS wait, ?::text AS type, ?::text AS message)
			INSERT INTO %1$s AS r (id, scope, key, state, fence, attempt, fingerprint, created_at, expires_at,
			  error_type, error_message)
			SELECT u.id, u.scope, u.key, 'F', 1, 1, u.fp, clock_timestamp(),
			  clock_timestamp() + u.retention * interval '1 ms', c.type, c.message
			FROM c CROSS JOIN unnest(?::uuid[], ?::text[], ?::text[], ?::bytea[], ?::bigint[]) AS u(id, scope, key, fp, retention)
			WHERE c.wait IS NOT NULL ORDER BY u.id
			"""
			+ PostgresClaims.NOTE_OVER + """

					RETURNING r.id""";

	private static final String STORE_RESULTS = """
			UPDATE %1$s AS t SET result = u.result
			FROM (SELECT * FROM unnest(?::uuid[], ?::bytea[]) AS a(id, result) LIMIT (SELECT NULL::bigint)) u
			WHERE t.id = u.id""";

	private static final String KNOWN = "SELECT id FROM %1$s WHERE id = ANY (?::uuid[])";

	private PostgresBatches() {
	}

	static BatchStatements statements(TableName table, String wait) {
		String free = PostgresClaims.FREE;
		String own = PostgresClaims.OWN;
		return new BatchStatements(
				List.of(CLAIM.formatted(table, wait, free, own.formatted("i"), own.formatted("excluded"))),
				settle(COMPLETE, table, wait, "result", "bytea", "'P', 'C'"),
				settle(FAIL, table, wait, "", "", "'P', 'F'"), settle(RELEASE, table, wait, "", "", "'P', 'F'"),
				settle(RENEW, table, wait, "lease", "bigint", "'P'"),
				List.of(NOTE_FAILURES.formatted(table, wait, free), NOTE_FAILURES.formatted(table, "1ms", free)),
				STORE_RESULTS.formatted(table), KNOWN.formatted(table));
	}

	// Keys that are still locked after the wait are being taken over: the others must not
	// suffer from that.
	static List<String> settle(String update, TableName table, String wait, String column, String type, String states) {
		String more = column.isEmpty() ? "" : ", ";
		String array = type.isEmpty() ? "" : ", ?::" + type + "[]";
		String selected = column.isEmpty() ? "" : ", u." + column;
		return List.of("", "SKIP LOCKED")
			.stream()
			.map((locked) -> HELD.formatted(table, wait, selected, array, more + column, states, locked)
					+ update.formatted(table))
			.toList();
	}

}
