package dev.idempotency.jdbc;

import org.jspecify.annotations.Nullable;

/**
 * The statements of an outbox in MariaDB and MySQL. The index of pending messages begins
 * with the columns that are null for them, because an index cannot have a condition. The
 * statements name their index: with others, a claim would read all pending messages.
 */
final class MySqlOutboxSql extends OutboxSql {

	private static final String NOW = "UTC_TIMESTAMP(6)";

	private static final String SAME_KEY = "TRUE";

	// An update would lock the lanes that the order reads before the limit.
	private static final String LOCK_LANES = """
			SELECT l.lane FROM (SELECT l.lane FROM %1$s_lane l
			    WHERE COALESCE((SELECT TRUE FROM %1$s o FORCE INDEX (%2$s_pending)
			      WHERE o.lane = l.lane AND %3$s ORDER BY o.position LIMIT 1), FALSE)
			    ORDER BY RAND() LIMIT :some) c
			STRAIGHT_JOIN %1$s_lane l FORCE INDEX (PRIMARY) ON l.lane = c.lane FOR UPDATE%4$s SKIP LOCKED""";

	// Neither database can both limit the messages of each lane and read no others, but
	// with the position at which each lane ends.
	private static final String ROWS = """
			SELECT %3$s
			FROM (SELECT k_lane, COALESCE((SELECT o.position FROM %1$s o FORCE INDEX (%2$s_pending)
			      WHERE o.lane = k_lane AND %4$s ORDER BY o.position LIMIT 1 OFFSET :limit), 9223372036854775807) AS ends
			    FROM JSON_TABLE(:lanes, '$[*]' COLUMNS (k_lane SMALLINT PATH '$')) k) b
			STRAIGHT_JOIN %1$s o FORCE INDEX (%2$s_pending) ON o.lane = k_lane AND o.position < b.ends
			WHERE %4$s ORDER BY o.position""";

	private static final String OTHERS = "NOT JSON_CONTAINS(:topics, JSON_QUOTE(o.topic)) AND ";

	private static final String BY_ID = """
			JSON_TABLE(:ids, '$[*]' COLUMNS (k_id CHAR(32) CHARACTER SET ascii PATH '$')) k
			STRAIGHT_JOIN %s r FORCE INDEX (PRIMARY) ON r.id = UNHEX(k_id)""";

	private static final String DELETE = """
			DELETE r FROM (SELECT id FROM %1$s WHERE published_at <= UTC_TIMESTAMP(6) - INTERVAL :patience * 1000 MICROSECOND
			    AND published_at >= COALESCE(:reached, published_at)
			  ORDER BY published_at LIMIT :limit FOR UPDATE SKIP LOCKED) e
			STRAIGHT_JOIN %1$s r FORCE INDEX (PRIMARY) ON r.id = e.id""";

	private static final String DELETED = "SELECT ROW_COUNT() AS deleted, CAST(NULL AS DATETIME(6)) AS last";

	private static final String BACKLOG = """
			SELECT TIMESTAMPDIFF(MICROSECOND, published_at, UTC_TIMESTAMP(6)) DIV 1000
			FROM %1$s WHERE published_at IS NOT NULL ORDER BY published_at LIMIT 1""";

	private static final String UNBLOCKED = """
			SELECT b.id FROM %1$s b WHERE b.set_aside_at IS NOT NULL AND b.blocked_by IS NOT NULL
			  AND NOT EXISTS (SELECT 1 FROM %1$s f WHERE f.id = b.blocked_by AND f.set_aside_at IS NOT NULL)
			ORDER BY b.position LIMIT :limit""";

	private static final String ALL_BLOCKED = """
			SELECT b.id FROM %1$s b WHERE b.set_aside_at IS NOT NULL AND b.blocked_by IS NOT NULL
			ORDER BY b.position LIMIT :limit""";

	private static final String OF_TOPIC = """
			(SELECT d.id FROM %1$s d WHERE d.set_aside_at IS NOT NULL AND d.blocked_by IS NULL AND d.topic = :topic
			  ORDER BY d.position LIMIT :limit) d STRAIGHT_JOIN %1$s r FORCE INDEX (PRIMARY) ON r.id = d.id""";

	private static final String DEAD = " WHERE r.set_aside_at IS NOT NULL AND r.blocked_by IS NULL";

	private final boolean mariaDb;

	MySqlOutboxSql(TableName table, boolean mariaDb) {
		super(table.withBackticks(), "mysql-outbox", claims(table, mariaDb, ""), claims(table, mariaDb, OTHERS), DELETE,
				BACKLOG);
		this.mariaDb = mariaDb;
	}

	private static Claims claims(TableName table, boolean mariaDb, String others) {
		String name = table.withBackticks();
		String index = table.table();
		String refused = " FORCE INDEX (" + index + "_refused)";
		String due = others + utc(due(name, SAME_KEY, "TRUE", refused));
		String columns = utc(columns(name, SAME_KEY, "TRUE", refused));
		return new Claims(LOCK_LANES.formatted(name, index, due, mariaDb ? "" : " OF l"),
				ROWS.formatted(name, index, columns, due));
	}

	// Times have no zone.
	private static String utc(String text) {
		return text.replace("CURRENT_TIMESTAMP", NOW);
	}

	@Override
	ValueTypes types() {
		return MySqlTypes.INSTANCE;
	}

	// MySQL has no such limit: there, the lanes of a host that is gone stay locked until
	// the server notices that the connection is.
	@Override
	@Nullable String limitIdleTime() {
		return this.mariaDb
				? "SET @idempotency_idle = @@SESSION.idle_transaction_timeout, SESSION idle_transaction_timeout = 180"
				: null;
	}

	@Override
	@Nullable String restoreIdleTime() {
		return this.mariaDb ? "SET SESSION idle_transaction_timeout = @idempotency_idle" : null;
	}

	@Override
	SqlStatement deletion() {
		return super.deletion().answeredBy(statement(DELETED));
	}

	@Override
	int limit(int all, int lanes) {
		return (all + lanes - 1) / lanes;
	}

	@Override
	String published() {
		return "UPDATE " + BY_ID.formatted(table()) + " SET published_at = " + NOW
				+ " WHERE published_at IS NULL AND set_aside_at IS NULL";
	}

	@Override
	String deletePublished() {
		return "DELETE r FROM " + BY_ID.formatted(table()) + " WHERE published_at IS NULL AND set_aside_at IS NULL";
	}

	@Override
	String now() {
		return NOW;
	}

	@Override
	String later() {
		return "UTC_TIMESTAMP(6) + INTERVAL :delay * 1000 MICROSECOND";
	}

	@Override
	String unblock() {
		return unblock(UNBLOCKED.formatted(table()));
	}

	@Override
	String unblockAll() {
		return unblock(ALL_BLOCKED.formatted(table()));
	}

	@Override
	String unblock(String ids) {
		return "UPDATE (" + ids + ") b STRAIGHT_JOIN " + table()
				+ " r FORCE INDEX (PRIMARY) ON r.id = b.id SET r.set_aside_at = NULL, r.blocked_by = NULL "
				+ "WHERE r.set_aside_at IS NOT NULL AND r.blocked_by IS NOT NULL";
	}

	@Override
	String status() {
		return utc(super.status());
	}

	@Override
	String retryOfTopic() {
		return "UPDATE " + OF_TOPIC.formatted(table()) + " SET r.set_aside_at = NULL, r.next_attempt_at = " + NOW
				+ ", r.attempts = 0" + DEAD;
	}

	@Override
	String discardOfTopic() {
		return "DELETE r FROM " + OF_TOPIC.formatted(table()) + DEAD;
	}

	@Override
	@Nullable String notifyRelays() {
		return null;
	}

}
