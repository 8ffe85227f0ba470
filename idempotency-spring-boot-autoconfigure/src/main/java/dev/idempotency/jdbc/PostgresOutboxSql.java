package dev.idempotency.jdbc;

/**
 * The statements of an outbox in PostgreSQL.
 */
final class PostgresOutboxSql extends OutboxSql {

	private static final String NO_IDLE_LIMIT = ", set_config('idle_in_transaction_session_timeout', '0', true)";

	// Lane by lane, so that a long backlog is not sorted.
	private static final String ROWS = """
			SELECT r.* FROM unnest(?) AS l(lane) CROSS JOIN LATERAL (
			  SELECT %2$s FROM %1$s o WHERE o.lane = l.lane AND %3$s ORDER BY o.position LIMIT ?) r
			ORDER BY r.position""";

	private static final String DELETE = """
			WITH batch AS MATERIALIZED (
			  SELECT id FROM %1$s WHERE published_at <= now() - ?::bigint * interval '1 ms'
			    AND published_at >= coalesce(?::timestamptz, '-infinity')
			  ORDER BY published_at LIMIT ? FOR UPDATE SKIP LOCKED),
			gone AS (DELETE FROM %1$s WHERE id = ANY (ARRAY(SELECT id FROM batch)) RETURNING published_at)
			SELECT count(*), max(published_at) FROM gone""";

	private static final String BACKLOG = """
			SELECT (extract(epoch FROM clock_timestamp() - published_at) * 1000)::bigint
			FROM %1$s WHERE published_at IS NOT NULL ORDER BY published_at LIMIT 1""";

	private final String channel;

	PostgresOutboxSql(TableName table) {
		super(table, "postgresql-outbox", NO_IDLE_LIMIT, ROWS, DELETE, BACKLOG);
		this.channel = table.table();
	}

	@Override
	int limit(int all, int lanes) {
		return (all + lanes - 1) / lanes;
	}

	@Override
	String now() {
		return "clock_timestamp()";
	}

	@Override
	String later() {
		return "clock_timestamp() + ?::bigint * interval '1 ms'";
	}

	@Override
	String notifyRelays() {
		return "SELECT pg_notify('" + this.channel + "', '')";
	}

}
