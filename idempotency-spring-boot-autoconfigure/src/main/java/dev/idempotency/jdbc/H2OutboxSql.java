package dev.idempotency.jdbc;

import org.jspecify.annotations.Nullable;

/**
 * The statements of an outbox in H2.
 */
final class H2OutboxSql extends OutboxSql {

	private static final String SAME_KEY = "TRUE";

	private static final String SOME = """
			SELECT TRUE FROM %1$s o WHERE o.lane = l.lane AND %2$s ORDER BY o.position LIMIT 1""";

	private static final String ROWS = """
			SELECT %3$s FROM %1$s o WHERE o.lane = ANY(:lanes) AND %2$s ORDER BY o.position LIMIT :limit""";

	private static final String OTHERS = "NOT (o.topic = ANY(:topics)) AND ";

	private static final String DELETE = """
			SELECT COUNT(*), MAX(published_at) FROM OLD TABLE (DELETE FROM %1$s WHERE id IN (
			  SELECT id FROM %1$s WHERE published_at <= DATEADD(MILLISECOND, -CAST(:patience AS BIGINT), CURRENT_TIMESTAMP)
			    AND published_at >= COALESCE(CAST(:reached AS TIMESTAMP WITH TIME ZONE), published_at)
			  ORDER BY published_at FETCH FIRST :limit ROWS ONLY FOR UPDATE SKIP LOCKED))""";

	private static final String BACKLOG = """
			SELECT DATEDIFF(MILLISECOND, published_at, CURRENT_TIMESTAMP)
			FROM %1$s WHERE published_at IS NOT NULL ORDER BY published_at FETCH FIRST ROW ONLY""";

	H2OutboxSql(TableName table) {
		super(table, "h2-outbox", claims(table, ""), claims(table, OTHERS), DELETE, BACKLOG);
	}

	// H2 is supported for tests only: the statement may read all pending messages.
	private static Claims claims(TableName table, String others) {
		String due = others + due(table, SAME_KEY);
		String rows = ROWS.formatted(table, due, columns(table, SAME_KEY));
		return new Claims(lockLanes(table, "", SOME.formatted(table, due)), rows);
	}

	@Override
	int limit(int all, int lanes) {
		return all;
	}

	@Override
	String now() {
		return "CURRENT_TIMESTAMP";
	}

	@Override
	String later() {
		return "DATEADD(MILLISECOND, CAST(:delay AS BIGINT), CURRENT_TIMESTAMP)";
	}

	@Override
	String unblock() {
		return unblock("SELECT b.id FROM " + table()
				+ " b WHERE b.set_aside_at IS NOT NULL AND b.blocked_by IS NOT NULL AND NOT EXISTS (SELECT 1 FROM "
				+ table() + " f WHERE f.id = b.blocked_by AND f.set_aside_at IS NOT NULL) "
				+ "ORDER BY b.position LIMIT :limit");
	}

	@Override
	@Nullable String notifyRelays() {
		return null;
	}

}
