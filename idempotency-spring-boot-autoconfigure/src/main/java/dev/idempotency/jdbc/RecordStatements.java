package dev.idempotency.jdbc;

import java.time.Duration;

/**
 * The statements for people. They read a part of the index on {@code expires_at}, since
 * nothing that a completion changes is indexed, and change single records by their id.
 *
 * @param bound a row if there are more records after a position than a call may look at,
 * the last of those: position, number of the others. Columns: expires_at, id
 * @param overview one row for each scope: bound. Columns: scope, in_progress, stuck,
 * failed, completed, oldest, now
 * @param stuck lists: position, bound, limit
 * @param failed lists: position, bound, limit
 * @param result id. Column: result
 * @param state id. Column: state
 * @param estimate about how many records there are: the name of the table, twice. Empty
 * if the database keeps no count
 * @param release id, whether by force
 * @param evict id, whether by force
 */
record RecordStatements(String bound, String overview, String stuck, String failed, String result, String state,
		String estimate, String release, String evict) {

	private static final String AFTER = "expires_at <= ? AND (expires_at < ? OR id < ?)";

	private static final String WITHIN = "expires_at >= ? AND (expires_at > ? OR id >= ?)";

	private static final String ORDER = "ORDER BY expires_at DESC, id DESC";

	private static final String STUCK = "state = 'P' AND lease_until <= %2$s";

	private static final String BOUND = "SELECT expires_at, id FROM %1$s WHERE " + AFTER + " " + ORDER
			+ " LIMIT 1 OFFSET ?";

	private static final String OVERVIEW = """
			SELECT scope, SUM(CASE WHEN state = 'P' THEN 1 ELSE 0 END) AS in_progress,
			  SUM(CASE WHEN\s""" + STUCK + """
			 THEN 1 ELSE 0 END) AS stuck,
			  SUM(CASE WHEN state = 'F' THEN 1 ELSE 0 END) AS failed,
			  SUM(CASE WHEN state = 'C' THEN 1 ELSE 0 END) AS completed,
			  MIN(CASE WHEN state = 'P' THEN created_at END) AS oldest, %2$s AS now
			FROM %1$s WHERE\s""" + WITHIN + " GROUP BY scope ORDER BY scope";

	private static final String LIST = """
			SELECT id, scope, "key", state, fence, attempt, lease_until, created_at, expires_at, completed_at,
			  error_type, error_message
			FROM %1$s WHERE\s""" + AFTER + " AND " + WITHIN;

	private static final String END = " " + ORDER + " LIMIT ?";

	// Of a partitioned table the partitions are counted. None if it was never analyzed.
	private static final String ESTIMATE = """
			SELECT SUM(CASE WHEN reltuples >= 0 THEN reltuples END)::bigint FROM pg_class
			WHERE (oid = to_regclass(?) AND relkind = 'r')
			  OR oid IN (SELECT relid FROM pg_partition_tree(to_regclass(?)) WHERE isleaf)""";

	private static final String RELEASABLE = "id = ? AND (state = 'F' OR (state = 'P' AND (lease_until <= %2$s OR ?)))";

	private static final String EVICTABLE = "id = ? AND (state <> 'P' OR lease_until <= %2$s OR ?)";

	private static final String RELEASE = "UPDATE %1$s SET state = 'F', token = NULL, lease_until = NULL";

	// Other transactions' locks are not waited for as long as a call may take.
	private static final String WAIT = """
			WITH c AS MATERIALIZED (SELECT set_config('lock_timeout', '%3$s', true) AS wait)
			""";

	static RecordStatements ofPostgres(TableName table, Duration lockWait) {
		return of(table, "clock_timestamp()", lockWait.toMillis() + "ms", ESTIMATE,
				WAIT + RELEASE + " FROM c WHERE c.wait IS NOT NULL AND " + RELEASABLE,
				WAIT + "DELETE FROM %1$s USING c WHERE c.wait IS NOT NULL AND " + EVICTABLE);
	}

	static RecordStatements ofH2(TableName table) {
		return of(table, "CURRENT_TIMESTAMP", "", "", RELEASE + " WHERE " + RELEASABLE,
				"DELETE FROM %1$s WHERE " + EVICTABLE);
	}

	private static RecordStatements of(TableName table, String now, String wait, String estimate, String release,
			String evict) {
		return new RecordStatements(BOUND.formatted(table), OVERVIEW.formatted(table, now),
				(LIST + " AND " + STUCK + END).formatted(table, now),
				(LIST + " AND state = 'F' AND error_type IS NOT NULL" + END).formatted(table, now),
				"SELECT result FROM %1$s WHERE id = ?".formatted(table),
				"SELECT state FROM %1$s WHERE id = ?".formatted(table), estimate, release.formatted(table, now, wait),
				evict.formatted(table, now, wait));
	}

}
