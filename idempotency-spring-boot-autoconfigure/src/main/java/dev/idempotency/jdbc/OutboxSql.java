package dev.idempotency.jdbc;

import org.jspecify.annotations.Nullable;

/**
 * The statements of the outbox. Those that a relay runs one after the other are not one
 * statement on purpose: what is read after a lane has been locked must be what is there
 * then.
 */
final class OutboxSql {

	static final int LANES = 64;

	private static final String PENDING = "published_at IS NULL AND set_aside_at IS NULL";

	private static final String COLUMNS = """
			id, position, topic, message_key, payload, headers, idempotency_key, aggregatetype, aggregateid, type,
			  attempts, created_at, CURRENT_TIMESTAMP AS read_at""";

	// Not what is to be tried again later, nor what comes after it.
	private static final String DUE = """
			o.published_at IS NULL AND o.set_aside_at IS NULL AND NOT (o.topic = ANY(?))
			  AND (o.next_attempt_at IS NULL OR o.next_attempt_at <= CURRENT_TIMESTAMP)
			  AND NOT EXISTS (SELECT 1 FROM %1$s f WHERE f.lane = o.lane AND f.topic = o.topic
			    AND f.message_key = o.message_key AND f.position < o.position
			    AND f.published_at IS NULL AND f.set_aside_at IS NULL AND f.next_attempt_at > CURRENT_TIMESTAMP)""";

	// One relay gets half of the lanes at most, and not always the same. A limit of the
	// server for transactions that are idle must not end one that waits for the broker.
	private static final String LOCK_LANES = """
			SELECT l.lane%3$s FROM %1$s_lane l WHERE EXISTS (SELECT 1 FROM %1$s o WHERE o.lane = l.lane AND %2$s)
			ORDER BY random() LIMIT 32 FOR UPDATE SKIP LOCKED""";

	private static final String NO_IDLE_LIMIT = ", set_config('idle_in_transaction_session_timeout', '0', true)";

	// Lane by lane, so that a long backlog is not sorted.
	private static final String POSTGRES_ROWS = """
			SELECT r.* FROM unnest(?) AS l(lane) CROSS JOIN LATERAL (
			  SELECT %2$s FROM %1$s o WHERE o.lane = l.lane AND %3$s ORDER BY o.position LIMIT ?) r
			ORDER BY r.position""";

	private static final String H2_ROWS = """
			SELECT %2$s FROM %1$s o WHERE o.lane = ANY(?) AND %3$s ORDER BY o.position LIMIT ?""";

	private static final String POSTGRES_DELETE = """
			WITH batch AS MATERIALIZED (
			  SELECT id FROM %1$s WHERE published_at <= now() - ?::bigint * interval '1 ms'
			    AND published_at >= coalesce(?::timestamptz, '-infinity')
			  ORDER BY published_at LIMIT ? FOR UPDATE SKIP LOCKED),
			gone AS (DELETE FROM %1$s WHERE id = ANY (ARRAY(SELECT id FROM batch)) RETURNING published_at)
			SELECT count(*), max(published_at) FROM gone""";

	private static final String H2_DELETE = """
			SELECT COUNT(*), MAX(published_at) FROM OLD TABLE (DELETE FROM %1$s WHERE id IN (
			  SELECT id FROM %1$s WHERE published_at <= DATEADD(MILLISECOND, -CAST(? AS BIGINT), CURRENT_TIMESTAMP)
			    AND published_at >= COALESCE(CAST(? AS TIMESTAMP WITH TIME ZONE), published_at)
			  ORDER BY published_at FETCH FIRST ? ROWS ONLY FOR UPDATE SKIP LOCKED))""";

	private static final String POSTGRES_BACKLOG = """
			SELECT (extract(epoch FROM clock_timestamp() - published_at) * 1000)::bigint
			FROM %1$s WHERE published_at IS NOT NULL ORDER BY published_at LIMIT 1""";

	private static final String H2_BACKLOG = """
			SELECT DATEDIFF(MILLISECOND, published_at, CURRENT_TIMESTAMP)
			FROM %1$s WHERE published_at IS NOT NULL ORDER BY published_at FETCH FIRST ROW ONLY""";

	private final String table;

	private final String channel;

	private final boolean postgres;

	OutboxSql(TableName table, boolean postgres) {
		this.table = table.toString();
		this.channel = table.table();
		this.postgres = postgres;
	}

	/**
	 * Add a message.
	 * @param published whether that is all, since somebody reads the log of the database
	 * @return the statement
	 */
	String insert(boolean published) {
		return "INSERT INTO " + this.table + " (id, lane, topic, message_key, payload, headers, idempotency_key, "
				+ "aggregatetype, aggregateid, type, published_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
				+ (published ? "CURRENT_TIMESTAMP" : "NULL") + ")";
	}

	String allLanes() {
		return "SELECT lane FROM " + this.table + "_lane WHERE lane >= 0 AND lane < " + LANES;
	}

	String delete() {
		return (this.postgres ? POSTGRES_DELETE : H2_DELETE).formatted(this.table);
	}

	String backlog() {
		return (this.postgres ? POSTGRES_BACKLOG : H2_BACKLOG).formatted(this.table);
	}

	String lockLanes() {
		return LOCK_LANES.formatted(this.table, DUE.formatted(this.table), this.postgres ? NO_IDLE_LIMIT : "");
	}

	String rows() {
		return (this.postgres ? POSTGRES_ROWS : H2_ROWS).formatted(this.table, COLUMNS, DUE.formatted(this.table));
	}

	/**
	 * The limit of {@link #rows}.
	 * @param all how many messages are wanted, about
	 * @param lanes the number of lanes
	 * @return how many the statement is to take from each lane, or in all
	 */
	int limit(int all, int lanes) {
		return this.postgres ? (all + lanes - 1) / lanes : all;
	}

	String published() {
		return "UPDATE " + this.table + " SET published_at = " + now() + " WHERE id = ANY(?) AND " + PENDING;
	}

	String deletePublished() {
		return "DELETE FROM " + this.table + " WHERE id = ANY(?) AND " + PENDING;
	}

	String failed() {
		return "UPDATE " + this.table + " SET attempts = ?, error_type = ?, error_message = ?, next_attempt_at = "
				+ later() + ", set_aside_at = CASE WHEN ? THEN " + now() + " END WHERE id = ? AND " + PENDING;
	}

	// The transaction may have begun a good while ago.
	private String now() {
		return this.postgres ? "clock_timestamp()" : "CURRENT_TIMESTAMP";
	}

	private String later() {
		return this.postgres ? "clock_timestamp() + ?::bigint * interval '1 ms'"
				: "DATEADD(MILLISECOND, CAST(? AS BIGINT), CURRENT_TIMESTAMP)";
	}

	// Counts that stay cheap however much there is; the oldest of each lane is its first.
	String status() {
		return """
				SELECT (SELECT count(*) FROM (SELECT 1 FROM %1$s WHERE %2$s LIMIT ?) p),
				  COALESCE((SELECT min((SELECT o.created_at FROM %1$s o WHERE o.lane = l.lane AND %2$s ORDER BY o.position LIMIT 1))
				    FROM %1$s_lane l), (SELECT min(created_at) FROM %1$s WHERE %2$s)), CURRENT_TIMESTAMP,
				  (SELECT count(*) FROM (SELECT 1 FROM %1$s WHERE set_aside_at IS NOT NULL LIMIT ?) s)"""
			.formatted(this.table, PENDING);
	}

	String setAside() {
		return "SELECT id, topic, aggregatetype, aggregateid, type, idempotency_key, created_at, set_aside_at, attempts, "
				+ "error_type, error_message FROM " + this.table
				+ " WHERE set_aside_at IS NOT NULL ORDER BY set_aside_at DESC LIMIT ?";
	}

	String retry() {
		return "UPDATE " + this.table + " SET set_aside_at = NULL, next_attempt_at = NULL, attempts = 0 WHERE id = ? "
				+ "AND set_aside_at IS NOT NULL";
	}

	String discard() {
		return "DELETE FROM " + this.table + " WHERE id = ? AND set_aside_at IS NOT NULL";
	}

	// H2 has nothing of the kind.
	@Nullable String notifyRelays() {
		return this.postgres ? "SELECT pg_notify('" + this.channel + "', '')" : null;
	}

}
