/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.time.Duration;
import java.util.stream.Stream;

/**
 * The statements for records in PostgreSQL. Those for several records sort by the id
 * before they lock. PostgreSQL may cache a plan that it made for an empty table.
 * {@code LIMIT (SELECT NULL::bigint)} does not limit the rows, but its value is unknown
 * to the planner, which then expects few rows and uses the index.
 */
class PostgresRecordSql extends StandardRecordSql {

	private static final String NOW = "clock_timestamp()";

	private static final String LEFT = "ceil(extract(epoch FROM r.lease_until - clock_timestamp()) * 1000)::bigint";

	private static final String FEW = " LIMIT (SELECT NULL::bigint)";

	// The time limit for locks ends with the statement, which is a transaction of its
	// own.
	private static final String WAIT = """
			WITH c AS MATERIALIZED (SELECT set_config('lock_timeout', '%2$s', true) AS wait)""";

	// Argument: a query that comes first.
	private static final String REQUEST = RequestSql
		.inserted("SELECT u.*, clock_timestamp() AS n FROM %s(" + RequestSql.claims(false) + ") u");

	private static final String REQUESTS = """
			WITH c AS MATERIALIZED (
			  SELECT current_setting('lock_timeout') AS prev, set_config('lock_timeout', '%2$s', true) AS wait,
			    clock_timestamp() AS n),
			i AS MATERIALIZED (
			""" + RequestSql.inserted(
			"SELECT u.*, c.n FROM c CROSS JOIN (" + RequestSql.claims(true) + FEW + ") u WHERE c.wait IS NOT NULL")
			+ "),\n";

	private static final String INSERT = "INSERT INTO %1$s AS r (" + RequestSql.COLUMNS + ")\nSELECT i.* FROM ";

	private static final String UNLESS_KNOWN = " ON CONFLICT (id) DO NOTHING";

	private static final String CLAIMABLE = " WHERE COALESCE((SELECT " + claimable("i", NOW)
			+ " FROM %1$s r WHERE r.id = i.id), TRUE)";

	// Checks again whether the record is free, because it is locked only now.
	private static final String TAKE_OVER = "\nON CONFLICT (id) DO UPDATE SET " + takeOver("excluded", NOW) + "\nWHERE "
			+ claimable("excluded", NOW);

	// Arguments: the next query, the first column.
	private static final String ACQUIRED = """
			 RETURNING r.id, r.fence, r.attempt)%s
			SELECT %sid, 'A'::"char" AS outcome, fence, attempt, NULL::bytea AS fingerprint, NULL::bytea AS result,
			  NULL::bigint AS left_ms, NULL::bigint AS decided_version
			FROM got
			UNION ALL
			""";

	// Reads the records of the keys that a statement has not acquired, and no others.
	private static final String TAKEN = taken(
			"SELECT id, token, state, version FROM i WHERE id NOT IN (SELECT id FROM got)" + FEW, NOW, LEFT);

	// It restores the session's lock_timeout after all rows have been written:
	// RETURNING would restore it at the first one.
	private static final String ACQUIRED_ALL = ACQUIRED.formatted("""
			,
			done AS MATERIALIZED (
			  SELECT set_config('lock_timeout', CASE WHEN g.written >= 0 THEN c.prev END, true) AS restored
			  FROM c CROSS JOIN (SELECT count(*) AS written FROM got) g)""", "") + """
			SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM done WHERE restored IS NULL
			UNION ALL
			""";

	private static final String CLAIM_ALL = REQUESTS + "got AS (" + INSERT + "i" + CLAIMABLE + " ORDER BY id"
			+ TAKE_OVER + ACQUIRED_ALL + TAKEN;

	// The completion comes first: the claim reads the row that it returns.
	private static final String COMPLETE_AND_CLAIM = WAIT + ",\ndone AS (UPDATE %1$s AS r SET "
			+ COMPLETION.formatted(NOW, ":result")
			+ """

					  FROM c WHERE c.wait IS NOT NULL AND r.id = :done AND r.token = :donetoken AND r.state IN ('P', 'C')
					  RETURNING r.id),
					i AS MATERIALIZED ("""
			+ REQUEST.formatted("done CROSS JOIN ") + "),\ngot AS (" + INSERT + "i" + CLAIMABLE + TAKE_OVER
			+ ACQUIRED.formatted(",\ntaken AS (" + TAKEN + ")", "true AS settled, ") + """
					SELECT true, taken.* FROM taken
					UNION ALL
					SELECT EXISTS (SELECT FROM done), NULL, 'R', NULL, NULL, NULL, NULL, NULL, NULL
					WHERE NOT EXISTS (SELECT FROM got) AND NOT EXISTS (SELECT FROM taken)""";

	// Locks the records that the caller owns, and changes them.
	private static final String HELD = WAIT + """
			,
			held AS MATERIALIZED (
			  SELECT u.* FROM c CROSS JOIN (%3$s LIMIT (SELECT NULL::bigint)) u
			  JOIN %1$s r ON r.id = u.id AND r.token = u.token
			  WHERE r.state IN (%4$s) AND c.wait IS NOT NULL ORDER BY r.id FOR UPDATE OF r %6$s)
			UPDATE %1$s AS r SET %5$s FROM held WHERE r.id = held.id RETURNING r.token""";

	// A partition is dropped by expires_at, so the value must not be before the end of
	// the lease. While it is later anyway, the update stays heap-only.
	private static final String RENEWAL = """
			(lease_until, expires_at) = (
			  SELECT l.until, greatest(r.expires_at, l.until)
			  FROM (SELECT clock_timestamp() + held.lease * interval '1 ms' AS until) l)""";

	private static final String RESTORE = WAIT + "\n" + INSERT + "("
			+ REQUEST.formatted("(SELECT FROM c WHERE c.wait IS NOT NULL) w CROSS JOIN ") + """
					) i
					ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until,
					  expires_at = greatest(r.expires_at, excluded.lease_until)
					WHERE r.state = 'P' AND r.token = excluded.token""";

	private static final String STORE_RESULTS = "UPDATE %1$s AS t SET result = u.result FROM ("
			+ RequestSql.all("id", "token", "result") + FEW + ") u WHERE t.id = u.id AND t.token = u.token";

	// The sum counts the partitions of a partitioned table. It is null if the table
	// was never analyzed.
	private static final String ESTIMATE = """
			SELECT SUM(CASE WHEN reltuples >= 0 THEN reltuples END)::bigint FROM pg_class
			WHERE (oid = to_regclass('%1$s') AND relkind = 'r')
			  OR oid IN (SELECT relid FROM pg_partition_tree(to_regclass('%1$s')) WHERE isleaf)""";

	private final TableName table;

	// An operator's call waits for a lock only for a part of its time.
	final String wait;

	// The waits for several keys of a batch may add up.
	final String batchWait;

	// The statements that are the same for a single and for a partitioned table.
	PostgresRecordSql(TableName table, Duration lockWait) {
		super(table, NOW, LEFT);
		this.table = table;
		this.wait = lockWait.toMillis() + "ms";
		this.batchWait = lockWait.dividedBy(4).toMillis() + "ms";
		addHeld(Name.COMPLETE_ALL, "'P', 'C'", COMPLETION.formatted(NOW, "held.result"), "id", "token", "result");
		addHeld(Name.FAIL_ALL, "'P', 'F'", FAILURE, "id", "token");
		addHeld(Name.RELEASE_ALL, "'P', 'F'", RELEASE, "id", "token");
		addHeld(Name.UNDO_ALL, "'C'", UNDO, "id", "token");
		addHeld(Name.RENEW_ALL, "'P'", RENEWAL, "id", "token", "lease");
		add(Name.STORE_RESULTS, STORE_RESULTS.formatted(table));
		add(Name.ESTIMATE, ESTIMATE.formatted(table));
		add(Name.RELEASE_BY_OPERATOR, (WAIT + " " + OPERATOR_RELEASE + " FROM c WHERE c.wait IS NOT NULL AND "
				+ RELEASABLE.formatted(table, NOW))
			.formatted(table, this.wait));
		add(Name.EVICT,
				(WAIT + " DELETE FROM %1$s USING c WHERE c.wait IS NOT NULL AND " + EVICTABLE.formatted(table, NOW))
					.formatted(table, this.wait));
	}

	static RecordSql single(TableName table, Duration lockWait) {
		PostgresRecordSql sql = new PostgresRecordSql(table, lockWait);
		StatementLimit limit = new StatementLimit(lockWait);
		// The completion waits together with the claim, and is repeated alone afterwards.
		String aheadWait = lockWait.dividedBy(10).toMillis() + "ms";
		SqlStatement claim = sql.statement(claim(CLAIMABLE + TAKE_OVER).formatted(table)).limitedBy(limit);
		sql.add(Name.INSERT,
				sql.statement((INSERT + "(" + REQUEST.formatted("") + ") i" + UNLESS_KNOWN).formatted(table))
					.limitedBy(limit));
		// Most keys are new. For a record that is not free, neither statement takes a
		// lock or writes to the log.
		sql.add(Name.CLAIM, sql.statement(claim(UNLESS_KNOWN).formatted(table)).limitedBy(limit), claim);
		sql.add(Name.CLAIM_KNOWN, claim);
		sql.add(Name.COMPLETE_AND_CLAIM,
				sql.statement(COMPLETE_AND_CLAIM.formatted(table, aheadWait)).limitedBy(limit));
		sql.add(Name.READ, taken(RequestSql.one("id", "token", "state", "version"), NOW, LEFT).formatted(table));
		sql.add(Name.INSERT_ALL,
				(REQUESTS + "got AS (" + INSERT + "i ORDER BY id" + UNLESS_KNOWN + ACQUIRED_ALL + TAKEN)
					.formatted(table, sql.batchWait));
		sql.add(Name.CLAIM_ALL, CLAIM_ALL.formatted(table, sql.batchWait));
		sql.add(Name.NOTE_FAILURES, CLAIM_ALL.formatted(table, sql.batchWait), CLAIM_ALL.formatted(table, "1ms"));
		sql.add(Name.RESTORE, RESTORE.formatted(table, sql.wait));
		return sql;
	}

	private static String claim(String conflict) {
		return "WITH i AS MATERIALIZED (" + REQUEST.formatted("") + "),\ngot AS (" + INSERT + "i" + conflict
				+ ACQUIRED.formatted("", "") + TAKEN;
	}

	// The second statement skips records that are still locked after the wait,
	// because another consumer takes them over, and changes all others.
	private void addHeld(Name name, String states, String changes, String... columns) {
		add(name,
				Stream.of("", "SKIP LOCKED")
					.map((locked) -> HELD.formatted(this.table, this.batchWait, RequestSql.all(columns), states,
							changes, locked))
					.toArray(String[]::new));
	}

}
