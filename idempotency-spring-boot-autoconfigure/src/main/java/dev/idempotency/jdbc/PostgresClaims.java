package dev.idempotency.jdbc;

/**
 * The statements of {@link PostgresDialect} that make a record the caller's, and their
 * parts that are also those for several records.
 */
final class PostgresClaims {

	// Whether a key may be claimed, by what is known about it.
	static final String CLAIMABLE = """
			    (r.id IS NULL OR %3$s OR %4$s) AS claimable
			""";

	// What a claim makes of a record that is still free when it is locked.
	static final String TAKE_OVER = """
			  ON CONFLICT (id) DO UPDATE SET state = excluded.state, fence = CASE WHEN %5$s THEN r.fence ELSE r.fence + 1 END,
			    attempt = CASE WHEN %5$s THEN r.attempt WHEN r.state = 'C' THEN 1 ELSE r.attempt + 1 END,
			    token = excluded.token, fingerprint = excluded.fingerprint,
			    lease_until = clock_timestamp() + (excluded.lease_until - excluded.created_at),
			    expires_at = clock_timestamp() + (excluded.expires_at - excluded.created_at),
			    completed_at = CASE WHEN excluded.state = 'C' THEN clock_timestamp() END,
			    result = NULL, error_type = NULL, error_message = NULL
			  WHERE %3$s OR %5$s
			""";

	// What a noted failure makes of a free record.
	static final String NOTE_OVER = """
			ON CONFLICT (id) DO UPDATE SET state = 'F', fence = r.fence + 1, token = NULL, lease_until = NULL, result = NULL,
			  attempt = CASE WHEN r.state = 'C' THEN 1 ELSE r.attempt + 1 END, fingerprint = excluded.fingerprint, completed_at = NULL,
			  expires_at = excluded.expires_at, error_type = excluded.error_type, error_message = excluded.error_message
			WHERE %3$s""";

	private static final String INSERT = """
			WITH c AS MATERIALIZED (
			  SELECT current_setting('lock_timeout') AS prev, set_config('lock_timeout', '%2$s', true) AS wait)
			INSERT INTO %1$s (id, scope, key, state, fence, attempt, fingerprint, created_at, expires_at, completed_at)
			SELECT ?::uuid, ?::text, ?::text, 'C', 1, 1, ?::bytea, clock_timestamp(),
			  clock_timestamp() + ?::bigint * interval '1 ms', clock_timestamp() FROM c WHERE c.wait IS NOT NULL
			ON CONFLICT (id) DO NOTHING
			RETURNING (SELECT set_config('lock_timeout', c.prev, true) FROM c)""";

	// A record is free when it failed or its lease or retention has expired. An owner
	// that repeats its claim keeps its fence. Answers for a record that is not free touch
	// nothing: no lock, no log.
	private static final String CLAIM = """
			WITH i AS MATERIALIZED (
			  SELECT current_setting('lock_timeout') AS prev, set_config('lock_timeout', '%2$s', true) AS wait,
			    ?::uuid AS id, ?::text AS scope, ?::text AS key, ?::text::"char" AS state, ?::uuid AS token, ?::bytea AS fp,
			    ?::bigint * interval '1 ms' AS lease, ?::bigint * interval '1 ms' AS retention, clock_timestamp() AS n),
			cur AS MATERIALIZED (
			  SELECT i.*, r.state AS known, r.fence, r.attempt, r.fingerprint, r.result, r.lease_until,
			"""
			+ CLAIMABLE
			+ """
					  FROM i LEFT JOIN %1$s r ON r.id = i.id),
					got AS (
					  INSERT INTO %1$s AS r
					    (id, scope, key, state, fence, attempt, token, fingerprint, lease_until, created_at, expires_at, completed_at)
					  SELECT id, scope, key, state, 1, 1, token, fp, n + lease, n, n + retention, CASE WHEN state = 'C' THEN n END
					  FROM cur WHERE claimable AND wait IS NOT NULL
					"""
			+ TAKE_OVER
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

	static final String FREE = """
			(r.state = 'F' OR (r.state = 'P' AND r.lease_until <= clock_timestamp())
			      OR (r.state = 'C' AND r.expires_at <= clock_timestamp()))""";

	// The token of a claim in a transaction is null and never matches.
	static final String OWN = "((r.state = 'P' AND r.token = %s.token) IS TRUE)";

	private static final String NOTE_FAILURE = """
			WITH c AS MATERIALIZED (SELECT set_config('lock_timeout', '%2$s', true) AS wait)
			INSERT INTO %1$s AS r (id, scope, key, state, fence, attempt, fingerprint, created_at, expires_at,
			  error_type, error_message)
			SELECT ?::uuid, ?::text, ?::text, 'F', 1, 1, ?::bytea, clock_timestamp(),
			  clock_timestamp() + ?::bigint * interval '1 ms', ?::text, ?::text FROM c WHERE c.wait IS NOT NULL
			""" + NOTE_OVER;

	private static final String RESTORE = """
			WITH c AS MATERIALIZED (
			  SELECT set_config('lock_timeout', '%2$s', true) AS wait, clock_timestamp() AS n)
			INSERT INTO %1$s AS r (id, scope, key, state, fence, attempt, token, fingerprint, lease_until, created_at, expires_at)
			SELECT u.id, u.scope, u.key, 'P', u.fence, u.attempt, u.token, u.fp, c.n + u.lease * interval '1 ms', c.n,
			  c.n + u.retention * interval '1 ms'
			FROM c CROSS JOIN (SELECT ?::uuid, ?::text, ?::text, ?::integer, ?::integer, ?::uuid, ?::bytea, ?::bigint, ?::bigint)
			  AS u(id, scope, key, fence, attempt, token, fp, lease, retention) WHERE c.wait IS NOT NULL
			ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until,
			  expires_at = greatest(r.expires_at, excluded.lease_until)
			WHERE r.state = 'P' AND r.token = excluded.token""";

	private PostgresClaims() {
	}

	static String insert(TableName table, String wait) {
		return INSERT.formatted(table, wait);
	}

	static String claim(TableName table, String wait) {
		return CLAIM.formatted(table, wait, FREE, OWN.formatted("i"), OWN.formatted("excluded"));
	}

	static String restore(TableName table, String wait) {
		return RESTORE.formatted(table, wait);
	}

	static String noteFailure(TableName table, String wait) {
		return NOTE_FAILURE.formatted(table, wait, FREE);
	}

}
