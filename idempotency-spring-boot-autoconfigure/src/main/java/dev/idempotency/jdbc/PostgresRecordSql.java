package dev.idempotency.jdbc;

import java.time.Duration;
import java.util.stream.Stream;

import dev.idempotency.jdbc.RecordSql.Name;

/**
 * The statements for records in PostgreSQL. Those for several records sort by the id
 * before they lock. PostgreSQL may cache a plan that it made for an empty table.
 * {@code LIMIT (SELECT NULL::bigint)} does not limit the rows, but its value is unknown
 * to the planner, which then expects few rows and uses the index.
 */
final class PostgresRecordSql {

	// A record is free when it failed or its lease or retention has expired. The version
	// that completed last keeps lower ones out for its retention, whatever the state is,
	// and lets a higher one in. Without a version, the first condition is null.
	private static final String FREE = """
			(CASE WHEN r.decided_version >= %1$s.version THEN r.state = 'C' AND r.expires_at <= clock_timestamp()
			      ELSE r.state = 'F' OR (r.state = 'P' AND r.lease_until <= clock_timestamp())
			        OR (r.state = 'C' AND (r.expires_at <= clock_timestamp() OR %1$s.version IS NOT NULL)) END)""";

	private static final String FREE_FOR = FREE.formatted("i");

	// The token of a claim in a transaction is null and never matches.
	private static final String OWN = "((r.state = 'P' AND r.token = %s.token) IS TRUE)";

	private static final String OWN_FOR = OWN.formatted("i");

	private static final String CLAIMABLE = "(" + FREE_FOR + " OR " + OWN_FOR + ")";

	private static final String REQUEST = """
			SELECT :id::uuid AS id, :scope::text AS scope, :key::text AS key, %s AS state, :token::uuid AS token,
			  :fingerprint::bytea AS fp, :lease::bigint * interval '1 ms' AS lease,
			  :retention::bigint * interval '1 ms' AS retention, :version::bigint AS version, clock_timestamp() AS n""";

	private static final String STATE = ":state::text::\"char\"";

	private static final String REQUESTS = """
			WITH c AS MATERIALIZED (
			  SELECT current_setting('lock_timeout') AS prev, set_config('lock_timeout', '%2$s', true) AS wait,
			    :state::text::"char" AS state, clock_timestamp() AS n),
			i AS MATERIALIZED (
			  SELECT u.id, u.scope, u.key, c.state, u.token, u.fp, u.lease * interval '1 ms' AS lease,
			    u.retention * interval '1 ms' AS retention, u.version, c.n
			  FROM c CROSS JOIN (
			    SELECT * FROM unnest(:id::uuid[], :scope::text[], :key::text[], :token::uuid[], :fingerprint::bytea[],
			      :lease::bigint[], :retention::bigint[], :version::bigint[])
			      AS a(id, scope, key, token, fp, lease, retention, version) LIMIT (SELECT NULL::bigint)) u
			  WHERE c.wait IS NOT NULL),
			""";

	private static final String CURRENT = """
			cur AS MATERIALIZED (
			  SELECT i.*, r.state AS known, r.fence, r.attempt, r.fingerprint, r.result, r.lease_until, r.decided_version,
			    (r.id IS NULL OR\s"""
			+ CLAIMABLE + """
					) AS claimable
					  FROM i LEFT JOIN %1$s r ON r.id = i.id),
					""";

	private static final String INSERT_CLAIM = """
			got AS (
			  INSERT INTO %1$s AS r (id, scope, key, state, fence, attempt, token, fingerprint, lease_until, created_at, expires_at,
			    completed_at, version, decided_version)
			  SELECT id, scope, key, state, 1, 1, token, fp, n + lease, n, n + retention, CASE WHEN state = 'C' THEN n END,
			    version, CASE WHEN state = 'C' THEN version END
			  FROM\s""";

	private static final String UNLESS_KNOWN = " ON CONFLICT (id) DO NOTHING RETURNING r.fence, r.attempt";

	// Checks again whether the record is free, because it is locked only now. An
	// owner that repeats its claim keeps its fence.
	private static final String TAKE_OVER = """

			ON CONFLICT (id) DO UPDATE SET state = excluded.state, fence = CASE WHEN %2$s THEN r.fence ELSE r.fence + 1 END,
			  attempt = CASE WHEN %2$s THEN r.attempt WHEN r.state = 'C' THEN 1 ELSE r.attempt + 1 END,
			  token = excluded.token, fingerprint = excluded.fingerprint,
			  lease_until = clock_timestamp() + (excluded.lease_until - excluded.created_at),
			  expires_at = clock_timestamp() + (excluded.expires_at - excluded.created_at),
			  completed_at = CASE WHEN excluded.state = 'C' THEN clock_timestamp() END,
			  version = excluded.version, decided_version = coalesce(excluded.decided_version, r.decided_version),
			  result = CASE WHEN excluded.state = 'P' AND r.decided_version IS NOT NULL THEN r.result END,
			  error_type = NULL, error_message = NULL
			WHERE %1$s OR %2$s RETURNING r.fence, r.attempt"""
		.formatted(FREE.formatted("excluded"), OWN.formatted("excluded"));

	private static final String ACQUIRED = """
			'A' AS outcome, fence, attempt, NULL::bytea AS fingerprint, NULL::bytea AS result, NULL::bigint AS left_ms,
			  NULL::bigint AS decided_version
			FROM got
			UNION ALL
			""";

	private static final String TAKEN = """
			known::text, fence, attempt, fingerprint, result,
			  ceil(extract(epoch FROM lease_until - clock_timestamp()) * 1000)::bigint, decided_version
			FROM cur WHERE NOT claimable""";

	private static final String RECORD = """
			r.state::text AS outcome, r.fence, r.attempt, r.fingerprint, r.result,
			  ceil(extract(epoch FROM r.lease_until - clock_timestamp()) * 1000)::bigint AS left_ms, r.decided_version
			FROM\s""";

	private static final String BY_ID = """
			%1$s r CROSS JOIN (SELECT :token::uuid AS token, :version::bigint AS version) i WHERE r.id = :id""";

	private static final String READ = "SELECT " + RECORD + BY_ID + " AND NOT " + CLAIMABLE;

	private static final String LOOK_UP = """
			SELECT CASE WHEN %2$s OR %3$s THEN 'A' ELSE r.state::text END AS outcome,
			  CASE WHEN %3$s OR NOT %2$s THEN r.fence ELSE r.fence + 1 END AS fence,
			  CASE WHEN %3$s OR NOT %2$s THEN r.attempt WHEN r.state = 'C' THEN 1 ELSE r.attempt + 1 END AS attempt,
			  r.fingerprint, r.result,
			  ceil(extract(epoch FROM r.lease_until - clock_timestamp()) * 1000)::bigint AS left_ms, r.decided_version
			FROM\s""" + BY_ID;

	private static final String INSERT = """
			INSERT INTO %1$s (id, scope, key, state, fence, attempt, fingerprint, created_at, expires_at, completed_at,
			  version, decided_version)
			SELECT :id::uuid, :scope::text, :key::text, 'C', 1, 1, :fingerprint::bytea, clock_timestamp(),
			  clock_timestamp() + :retention::bigint * interval '1 ms', clock_timestamp(), v, v
			FROM (SELECT :version::bigint AS v) i
			ON CONFLICT (id) DO NOTHING""";

	// Most keys are new. For a record that is not free, neither this statement nor the
	// next one takes a lock or writes to the log.
	private static final String CLAIM_NEW = "WITH " + INSERT_CLAIM + "(" + REQUEST.formatted(STATE) + ") i"
			+ UNLESS_KNOWN + ")\nSELECT " + ACQUIRED + READ + " AND NOT EXISTS (SELECT FROM got)";

	private static final String CLAIM = "WITH i AS MATERIALIZED (" + REQUEST.formatted(STATE) + "),\n" + CURRENT
			+ INSERT_CLAIM + "cur WHERE claimable" + TAKE_OVER + ")\nSELECT " + ACQUIRED + "SELECT " + TAKEN;

	// It restores the session's lock_timeout after all rows have been written:
	// RETURNING would restore it at the first one.
	private static final String RESTORE_LOCK_TIMEOUT = """
			, r.id),
			done AS MATERIALIZED (
			  SELECT set_config('lock_timeout', CASE WHEN g.written >= 0 THEN c.prev END, true) AS restored
			  FROM c CROSS JOIN (SELECT count(*) AS written FROM got) g)
			SELECT id,\s""" + ACQUIRED + """
			SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM done WHERE restored IS NULL
			UNION ALL
			""";

	// It reads the records of the keys that it has not inserted, and no others.
	private static final String INSERT_ALL = REQUESTS + INSERT_CLAIM + "i ORDER BY id" + UNLESS_KNOWN
			+ RESTORE_LOCK_TIMEOUT + "SELECT r.id, " + RECORD
			+ """
					(SELECT id, token, version FROM i WHERE id NOT IN (SELECT id FROM got) LIMIT (SELECT NULL::bigint)) i
					  JOIN %1$s r ON r.id = i.id WHERE NOT\s"""
			+ CLAIMABLE;

	private static final String CLAIM_ALL = REQUESTS + CURRENT + INSERT_CLAIM + "cur WHERE claimable ORDER BY id"
			+ TAKE_OVER + RESTORE_LOCK_TIMEOUT + "SELECT id, " + TAKEN;

	private static final String COMPLETION = """
			UPDATE %%1$s AS t SET state = 'C', lease_until = NULL,
			  completed_at = CASE WHEN t.state = 'P' THEN clock_timestamp() ELSE t.completed_at END,
			  decided_version = CASE WHEN t.state = 'P' THEN coalesce(t.version, t.decided_version) ELSE t.decided_version END,
			  result = CASE WHEN t.state = 'P' THEN %s ELSE t.result END
			""";

	// A settled record matches, too: an owner may repeat its call after an error with
	// an unknown outcome, which then changes nothing.
	private static final String COMPLETE = COMPLETION.formatted(":result::bytea")
			+ "WHERE t.id = :id AND t.token = :token AND t.state IN ('P', 'C')";

	// The completion comes first: the claim reads the row that it returns. The time limit
	// for locks ends with the statement, which is a transaction of its own.
	private static final String COMPLETE_AND_CLAIM = """
			WITH c AS MATERIALIZED (SELECT set_config('lock_timeout', '%2$s', true) AS wait),
			done AS (
			""" + COMPLETION.formatted(":result::bytea") + """
			  FROM c WHERE c.wait IS NOT NULL AND t.id = :done AND t.token = :donetoken AND t.state IN ('P', 'C')
			  RETURNING t.id),
			i AS MATERIALIZED (""" + REQUEST.formatted("'P'::\"char\"") + " FROM done),\n" + CURRENT + INSERT_CLAIM
			+ "cur WHERE claimable" + TAKE_OVER + ")\nSELECT true AS settled, " + ACQUIRED + "SELECT true, " + TAKEN
			+ """

					UNION ALL
					SELECT EXISTS (SELECT FROM done), 'R', NULL, NULL, NULL, NULL, NULL, NULL
					WHERE NOT EXISTS (SELECT FROM got) AND NOT EXISTS (SELECT FROM cur WHERE NOT claimable)""";

	// Locks the records that the caller owns.
	private static final String HELD = """
			WITH c AS MATERIALIZED (SELECT set_config('lock_timeout', '%2$s', true) AS wait),
			held AS MATERIALIZED (
			  SELECT r.id%3$s FROM c
			  CROSS JOIN (SELECT * FROM unnest(:id::uuid[], :token::uuid[]%4$s) AS a(id, token%5$s) LIMIT (SELECT NULL::bigint)) u
			  JOIN %1$s r ON r.id = u.id AND r.token = u.token
			  WHERE r.state IN (%6$s) AND c.wait IS NOT NULL ORDER BY r.id FOR UPDATE OF r %7$s)
			""";

	private static final String COMPLETE_HELD = COMPLETION.formatted("held.result")
			+ "FROM held WHERE t.id = held.id RETURNING t.token";

	private static final String FAIL_HELD = """
			UPDATE %1$s AS t SET state = 'F', lease_until = NULL,
			  error_type = CASE WHEN t.state = 'P' THEN :type::text ELSE t.error_type END,
			  error_message = CASE WHEN t.state = 'P' THEN :message::text ELSE t.error_message END
			FROM held WHERE t.id = held.id RETURNING t.token""";

	private static final String RELEASE_HELD = """
			UPDATE %1$s AS t SET state = 'F', lease_until = NULL,
			  attempt = CASE WHEN t.state = 'P' THEN t.attempt - 1 ELSE t.attempt END
			FROM held WHERE t.id = held.id RETURNING t.token""";

	// A partition is dropped by expires_at, so the value must not be before the end of
	// the lease. While it is later anyway, the update stays heap-only.
	private static final String RENEW_HELD = """
			UPDATE %1$s AS t SET (lease_until, expires_at) = (
			  SELECT l.until, greatest(t.expires_at, l.until)
			  FROM (SELECT clock_timestamp() + held.lease * interval '1 ms' AS until) l)
			FROM held WHERE t.id = held.id RETURNING t.token""";

	private static final String RESTORE = """
			WITH c AS MATERIALIZED (
			  SELECT set_config('lock_timeout', '%2$s', true) AS wait, clock_timestamp() AS n)
			INSERT INTO %1$s AS r (id, scope, key, state, fence, attempt, token, fingerprint, lease_until, created_at, expires_at,
			  version)
			SELECT u.id, u.scope, u.key, 'P', u.fence, u.attempt, u.token, u.fp, c.n + u.lease * interval '1 ms', c.n,
			  c.n + u.retention * interval '1 ms', u.version
			FROM c CROSS JOIN (SELECT :id::uuid, :scope::text, :key::text, :fence::integer, :attempt::integer, :token::uuid,
			    :fingerprint::bytea, :lease::bigint, :retention::bigint, :version::bigint)
			  AS u(id, scope, key, fence, attempt, token, fp, lease, retention, version) WHERE c.wait IS NOT NULL
			ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until,
			  expires_at = greatest(r.expires_at, excluded.lease_until)
			WHERE r.state = 'P' AND r.token = excluded.token""";

	private static final String FAIL_OVER = """
			ON CONFLICT (id) DO UPDATE SET state = 'F', fence = r.fence + 1, token = NULL, lease_until = NULL,
			  version = excluded.version, result = CASE WHEN r.decided_version IS NOT NULL THEN r.result END,
			  attempt = CASE WHEN r.state = 'C' THEN 1 ELSE r.attempt + 1 END, fingerprint = excluded.fingerprint, completed_at = NULL,
			  expires_at = excluded.expires_at, error_type = excluded.error_type, error_message = excluded.error_message
			WHERE\s"""
			+ FREE.formatted("excluded");

	private static final String NOTE_FAILURES = """
			WITH c AS MATERIALIZED (
			  SELECT set_config('lock_timeout', '%2$s', true) AS wait, :type::text AS type, :message::text AS message)
			INSERT INTO %1$s AS r (id, scope, key, state, fence, attempt, fingerprint, created_at, expires_at,
			  error_type, error_message, version)
			SELECT u.id, u.scope, u.key, 'F', 1, 1, u.fp, clock_timestamp(),
			  clock_timestamp() + u.retention * interval '1 ms', c.type, c.message, u.version
			FROM c CROSS JOIN unnest(:id::uuid[], :scope::text[], :key::text[], :fingerprint::bytea[], :retention::bigint[],
			    :version::bigint[])
			  AS u(id, scope, key, fp, retention, version)
			WHERE c.wait IS NOT NULL ORDER BY u.id
			"""
			+ FAIL_OVER + " RETURNING r.id";

	private static final String STORE_RESULTS = """
			UPDATE %1$s AS t SET result = u.result
			FROM (SELECT * FROM unnest(:id::uuid[], :result::bytea[]) AS a(id, result) LIMIT (SELECT NULL::bigint)) u
			WHERE t.id = u.id""";

	private static final String KNOWN = "SELECT id FROM %1$s WHERE id = ANY (:id::uuid[])";

	// now(), because the index cannot be used with clock_timestamp().
	private static final String EXPIRED = "expires_at <= now() AND NOT (state = 'P' AND lease_until > now())";

	private static final String DELETE_EXPIRED = """
			WITH batch AS MATERIALIZED (
			  SELECT ctid FROM %1$s WHERE %2$s AND expires_at <= now() - :patience::bigint * interval '1 ms'
			    AND expires_at >= coalesce(:reached::timestamptz, '-infinity')
			  ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED),
			gone AS (DELETE FROM %1$s WHERE ctid = ANY (ARRAY(SELECT ctid FROM batch)) RETURNING expires_at)
			SELECT count(*), max(expires_at) FROM gone""";

	private static final String BACKLOG = """
			SELECT (extract(epoch FROM clock_timestamp() - expires_at) * 1000)::bigint
			FROM %1$s WHERE %2$s ORDER BY expires_at LIMIT 1""";

	// The sum counts the partitions of a partitioned table. It is null if the table
	// was never analyzed.
	private static final String ESTIMATE = """
			SELECT SUM(CASE WHEN reltuples >= 0 THEN reltuples END)::bigint FROM pg_class
			WHERE (oid = to_regclass(:table) AND relkind = 'r')
			  OR oid IN (SELECT relid FROM pg_partition_tree(to_regclass(:table)) WHERE isleaf)""";

	// An operator's call waits for a lock only for a part of its time.
	private static final String WAIT = """
			WITH c AS MATERIALIZED (SELECT set_config('lock_timeout', '%3$s', true) AS wait)
			""";

	private PostgresRecordSql() {
	}

	static RecordSql single(TableName table, Duration lockWait) {
		// The completion waits together with the claim, and is repeated alone afterwards.
		String aheadWait = lockWait.dividedBy(10).toMillis() + "ms";
		StatementLimit limit = new StatementLimit(lockWait);
		return of(table, lockWait, limit)
			.add(Name.COMPLETE_AND_CLAIM, limit, COMPLETE_AND_CLAIM.formatted(table, aheadWait))
			.add(Name.READ, READ.formatted(table));
	}

	// The statements that are the same for a single and for a partitioned table.
	static RecordSql of(TableName table, Duration lockWait) {
		return of(table, lockWait, new StatementLimit(lockWait));
	}

	private static RecordSql of(TableName table, Duration lockWait, StatementLimit limit) {
		String now = "clock_timestamp()";
		String wait = lockWait.toMillis() + "ms";
		// The waits for several keys of a batch may add up.
		String batchWait = lockWait.dividedBy(4).toMillis() + "ms";
		return new RecordSql(table, now).add(Name.INSERT, limit, INSERT.formatted(table))
			.add(Name.CLAIM, limit, CLAIM_NEW.formatted(table), CLAIM.formatted(table))
			.add(Name.CLAIM_KNOWN, limit, CLAIM.formatted(table))
			.add(Name.INSERT_ALL, INSERT_ALL.formatted(table, batchWait))
			.add(Name.CLAIM_ALL, CLAIM_ALL.formatted(table, batchWait))
			.add(Name.LOOK_UP, LOOK_UP.formatted(table, FREE_FOR, OWN_FOR))
			.add(Name.COMPLETE, COMPLETE.formatted(table))
			.add(Name.COMPLETE_ALL, held(COMPLETE_HELD, table, batchWait, "result", "bytea", "'P', 'C'"))
			.add(Name.FAIL_ALL, held(FAIL_HELD, table, batchWait, "", "", "'P', 'F'"))
			.add(Name.RELEASE_ALL, held(RELEASE_HELD, table, batchWait, "", "", "'P', 'F'"))
			.add(Name.RENEW_ALL, held(RENEW_HELD, table, batchWait, "lease", "bigint", "'P'"))
			.add(Name.RESTORE, RESTORE.formatted(table, wait))
			.add(Name.NOTE_FAILURES, NOTE_FAILURES.formatted(table, batchWait), NOTE_FAILURES.formatted(table, "1ms"))
			.add(Name.STORE_RESULTS, STORE_RESULTS.formatted(table))
			.add(Name.KNOWN, KNOWN.formatted(table))
			.add(Name.DELETE_EXPIRED, DELETE_EXPIRED.formatted(table, EXPIRED))
			.add(Name.BACKLOG, BACKLOG.formatted(table, EXPIRED))
			.add(Name.ESTIMATE, ESTIMATE)
			.add(Name.RELEASE_BY_OPERATOR,
					(WAIT + RecordSql.OPERATOR_RELEASE + " FROM c WHERE c.wait IS NOT NULL AND " + RecordSql.RELEASABLE)
						.formatted(table, now, wait))
			.add(Name.EVICT, (WAIT + "DELETE FROM %1$s USING c WHERE c.wait IS NOT NULL AND " + RecordSql.EVICTABLE)
				.formatted(table, now, wait));
	}

	// The second statement skips records that are still locked after the wait,
	// because another consumer takes them over, and changes all others.
	private static String[] held(String update, TableName table, String wait, String column, String type,
			String states) {
		String selected = column.isEmpty() ? "" : ", u." + column;
		String array = column.isEmpty() ? "" : ", :" + column + "::" + type + "[]";
		String name = column.isEmpty() ? "" : ", " + column;
		return Stream.of("", "SKIP LOCKED")
			.map((locked) -> HELD.formatted(table, wait, selected, array, name, states, locked)
					+ update.formatted(table))
			.toArray(String[]::new);
	}

}
