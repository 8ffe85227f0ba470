package dev.idempotency.jdbc;

import org.jspecify.annotations.Nullable;

/**
 * The statements of the outbox. Those that a relay runs one after the other are not one
 * statement on purpose: what is read after a lane has been locked must be what is there
 * then.
 */
abstract class OutboxSql {

	static final int LANES = 64;

	// One relay does not take all there are.
	static final int LANES_OF_A_CLAIM = LANES / 2;

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

	// Not always the same, so that none is left behind. With EXISTS the
	// database would join, and read all that waits; this reads the index up to the first.
	private static final String LOCK_LANES = """
			SELECT l.lane%3$s FROM %1$s_lane l WHERE (
			  SELECT TRUE FROM %1$s o WHERE o.lane = l.lane AND %2$s ORDER BY o.position LIMIT 1)
			ORDER BY random() LIMIT ? FOR UPDATE SKIP LOCKED""";

	private final String table;

	private final String folder;

	private final String lockLanes;

	private final String rows;

	private final String delete;

	private final String backlog;

	/**
	 * Create the statements of an outbox.
	 * @param table the table
	 * @param folder the name of the folder of its migrations
	 * @param locking a further column of {@link #lockLanes} with its comma, or nothing
	 * @param rows see {@link #rows}; with the table, the columns and the condition to be
	 * filled in
	 * @param delete see {@link #delete}; with the table to be filled in
	 * @param backlog see {@link #backlog}; with the table to be filled in
	 */
	OutboxSql(TableName table, String folder, String locking, String rows, String delete, String backlog) {
		this.table = table.toString();
		this.folder = folder;
		String due = DUE.formatted(table);
		this.lockLanes = LOCK_LANES.formatted(table, due, locking);
		this.rows = rows.formatted(table, COLUMNS, due);
		this.delete = delete.formatted(table);
		this.backlog = backlog.formatted(table);
	}

	/**
	 * The folder on the class path that holds the migrations.
	 * @return the folder
	 */
	String migrations() {
		return "dev/idempotency/jdbc/" + this.folder;
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

	/**
	 * Delete published messages. Parameters: the retention in milliseconds, a time before
	 * which there are none, if that is known, the number. Columns: how many, and the time
	 * of the last.
	 * @return the statement
	 */
	String delete() {
		return this.delete;
	}

	/**
	 * The oldest published message. Column: its age in milliseconds.
	 * @return the statement
	 */
	String backlog() {
		return this.backlog;
	}

	String lockLanes() {
		return this.lockLanes;
	}

	/**
	 * The messages of lanes in their order. Parameters: the lanes, the topics to leave
	 * out, {@link #limit}.
	 * @return the statement
	 */
	String rows() {
		return this.rows;
	}

	/**
	 * The limit of {@link #rows}.
	 * @param all how many messages are wanted, about
	 * @param lanes the number of lanes
	 * @return how many the statement is to take from each lane, or in all
	 */
	abstract int limit(int all, int lanes);

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

	// Of the statement: the transaction may have begun a good while ago.
	abstract String now();

	// Parameter: how many milliseconds after now.
	abstract String later();

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

	/**
	 * Tell other relays of messages.
	 * @return the statement, if the database has something of the kind
	 */
	abstract @Nullable String notifyRelays();

}
