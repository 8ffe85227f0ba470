package dev.idempotency.jdbc;

/**
 * The statements of {@link PostgresDialect} that delete what may be forgotten.
 */
final class PostgresCleanup {

	// A host that is gone or frozen must not keep the turn, and a shorter limit of the
	// server must not end the pause.
	private static final String CLEANUP_TURN = """
			SELECT pg_try_advisory_xact_lock(hashtext('dev.idempotency.cleanup'), hashoid('%1$s'::regclass)),
			  set_config('idle_in_transaction_session_timeout', ?, true)""";

	// now() because the index cannot be used with clock_timestamp().
	private static final String FORGETTABLE = "expires_at <= now() AND NOT (state = 'P' AND lease_until > now())";

	// The condition twice: if the table has been partitioned meanwhile, other rows have
	// the
	// same ctid.
	private static final String DELETE_EXPIRED = """
			WITH batch AS MATERIALIZED (
			  SELECT ctid FROM %1$s WHERE %2$s AND expires_at <= now() - ?::bigint * interval '1 ms'
			    AND expires_at >= coalesce(?::timestamptz, '-infinity')
			  ORDER BY expires_at LIMIT ? FOR UPDATE SKIP LOCKED),
			gone AS (DELETE FROM %1$s WHERE ctid = ANY (ARRAY(SELECT ctid FROM batch)) AND %2$s RETURNING expires_at)
			SELECT count(*), max(expires_at) FROM gone""";

	private static final String BACKLOG = """
			SELECT (extract(epoch FROM clock_timestamp() - expires_at) * 1000)::bigint
			FROM %1$s WHERE %2$s ORDER BY expires_at LIMIT 1""";

	private PostgresCleanup() {
	}

	static String turn(TableName table) {
		return CLEANUP_TURN.formatted(table);
	}

	static String deleteExpired(TableName table) {
		return DELETE_EXPIRED.formatted(table, FORGETTABLE);
	}

	static String backlog(TableName table) {
		return BACKLOG.formatted(table, FORGETTABLE);
	}

}
