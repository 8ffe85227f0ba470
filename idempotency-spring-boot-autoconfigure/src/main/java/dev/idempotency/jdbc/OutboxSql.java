package dev.idempotency.jdbc;

import java.util.Set;

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

	static final String PENDING = "published_at IS NULL AND set_aside_at IS NULL";

	// Given up, and not only behind one that is.
	private static final String DEAD = "set_aside_at IS NOT NULL AND blocked_by IS NULL";

	private static final String BLOCKED = "set_aside_at IS NOT NULL AND blocked_by IS NOT NULL";

	// With the first message of its topic and key that is set aside: a look at the index
	// for each row that is read.
	private static final String COLUMNS = """
			id, position, lane, topic, message_key, payload, headers, idempotency_key, aggregatetype, aggregateid, type,
			  attempts, created_at, CURRENT_TIMESTAMP AS read_at,
			  (SELECT f.id FROM %1$s f WHERE f.lane = o.lane AND f.topic = o.topic AND %2$s
			    AND f.message_key = o.message_key AND f.position < o.position
			    AND f.published_at IS NULL AND f.next_attempt_at IS NOT NULL AND f.set_aside_at IS NOT NULL
			    ORDER BY f.position LIMIT 1) AS blocker""";

	// Not what is to be tried again later, nor what comes after it: a look at the index
	// for
	// each row. NOT EXISTS would be a join, which compares each with all that was
	// refused.
	private static final String DUE = """
			o.published_at IS NULL AND o.set_aside_at IS NULL
			  AND (o.next_attempt_at IS NULL OR o.next_attempt_at <= CURRENT_TIMESTAMP)
			  AND NOT COALESCE((SELECT TRUE FROM %1$s f WHERE f.lane = o.lane AND f.topic = o.topic AND %2$s
			    AND f.message_key = o.message_key AND f.position < o.position
			    AND f.published_at IS NULL AND f.set_aside_at IS NULL AND f.next_attempt_at > CURRENT_TIMESTAMP
			    ORDER BY f.position LIMIT 1), FALSE)""";

	// Not always the same, so that none is left behind.
	private static final String LOCK_LANES = """
			SELECT l.lane%2$s FROM %1$s_lane l WHERE (%3$s) ORDER BY random() LIMIT :some FOR UPDATE SKIP LOCKED""";

	private final String table;

	private final String folder;

	private final Claims all;

	private final Claims some;

	private final String delete;

	private final String backlog;

	/**
	 * Create the statements of an outbox.
	 * @param table the table
	 * @param folder the name of the folder of its migrations
	 * @param all what claims messages of all topics
	 * @param some what leaves some topics out
	 * @param delete see {@link #delete}; with the table to be filled in
	 * @param backlog see {@link #backlog}; with the table to be filled in
	 */
	OutboxSql(TableName table, String folder, Claims all, Claims some, String delete, String backlog) {
		this.table = table.toString();
		this.folder = folder;
		this.all = all;
		this.some = some;
		this.delete = delete.formatted(table);
		this.backlog = backlog.formatted(table);
	}

	static String due(TableName table, String sameKey) {
		return DUE.formatted(table, sameKey);
	}

	static String columns(TableName table, String sameKey) {
		return COLUMNS.formatted(table, sameKey);
	}

	static String lockLanes(TableName table, String more, String hasSome) {
		return LOCK_LANES.formatted(table, more, hasSome);
	}

	/**
	 * The folder on the class path that holds the migrations.
	 * @return the folder
	 */
	String migrations() {
		return "dev/idempotency/jdbc/" + this.folder;
	}

	String table() {
		return this.table;
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

	/**
	 * Whether readers of the database's log get the messages. Column: whether a
	 * publication has the table.
	 * @return the statement, {@code null} if the database has no publications
	 */
	@Nullable String inPublication() {
		return null;
	}

	/**
	 * The beginning of a claim, sent with its first statement in one round trip. The
	 * transaction then reads what has been committed before each statement, whatever the
	 * isolation of the connection, and has the locks and the privileges that the marks
	 * will need.
	 * @param delete whether published messages are deleted
	 * @return the beginning of a statement, empty if the isolation of the connection has
	 * to be changed
	 */
	String begin(boolean delete) {
		return "";
	}

	/**
	 * What claims messages.
	 * @param without the topics that are to be left out
	 * @return the statements
	 */
	Claims claims(Set<String> without) {
		return without.isEmpty() ? this.all : this.some;
	}

	/**
	 * The limit of {@link Claims#rows}.
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
				+ later() + ", blocked_by = NULL, set_aside_at = CASE WHEN ? THEN " + now() + " END WHERE id = ? AND "
				+ PENDING;
	}

	/**
	 * Set a message aside behind one of its topic and key that is. It leaves the index of
	 * what is pending, so that no later claim passes it again. Parameters: the message
	 * that it waits for, its own identity.
	 * @return the statement
	 */
	String block() {
		return "UPDATE " + this.table + " SET blocked_by = ?, set_aside_at = " + now() + ", next_attempt_at = " + now()
				+ " WHERE id = ? AND " + PENDING;
	}

	/**
	 * Make messages pending whose blocker is not set aside any more. Whether another one
	 * blocks them is for the next claim to see. Parameter: how many at most, in their
	 * order.
	 * @return the statement
	 */
	abstract String unblock();

	/**
	 * Make all messages pending that wait for another one. Parameter: how many at most,
	 * in their order.
	 * @return the statement
	 */
	String unblockAll() {
		return unblock(
				"SELECT b.id FROM " + this.table + " b WHERE b.set_aside_at IS NOT NULL AND b.blocked_by IS NOT NULL "
						+ "ORDER BY b.position LIMIT ? FOR UPDATE SKIP LOCKED");
	}

	// They keep the time of their next attempt, by which relays find them.
	String unblock(String ids) {
		return "UPDATE " + this.table + " SET set_aside_at = NULL, blocked_by = NULL WHERE id IN (" + ids + ") AND "
				+ BLOCKED;
	}

	// Of the statement: the transaction may have begun a good while ago.
	abstract String now();

	// Parameter: how many milliseconds after now.
	abstract String later();

	/**
	 * Moves the marks of the lanes, see {@link OutboxMarks}. Parameter: where each lane
	 * is to be looked at from. Columns: the server, the last position, the transactions
	 * that may have inserted messages and are open, and the first pending message of each
	 * lane.
	 * @return the statement, {@code null} if the database needs no marks
	 */
	@Nullable String look() {
		return null;
	}

	/**
	 * Counts that stay cheap however much there is. Parameters: {@code :most} to be
	 * counted, and those of {@link OutboxMarks}.
	 * @return the statement
	 */
	String status() {
		return """
				SELECT (SELECT count(*) FROM (SELECT 1 FROM %1$s WHERE %2$s LIMIT :most) p),
				  COALESCE((SELECT min((SELECT o.created_at FROM %1$s o WHERE o.lane = l.lane AND %2$s ORDER BY o.position LIMIT 1))
				    FROM %1$s_lane l), (SELECT min(created_at) FROM %1$s WHERE %2$s)), CURRENT_TIMESTAMP,
				  (SELECT count(*) FROM (SELECT 1 FROM %1$s WHERE %3$s LIMIT :most) s), b.blocked, b.oldest
				FROM (SELECT count(*) AS blocked, min(created_at) AS oldest
				  FROM (SELECT created_at FROM %1$s WHERE %4$s LIMIT :most) c) b"""
			.formatted(this.table, PENDING, DEAD, BLOCKED);
	}

	String deadLetters() {
		return "SELECT id, topic, aggregatetype, aggregateid, type, idempotency_key, created_at, set_aside_at, attempts, "
				+ "error_type, error_message FROM " + this.table + " WHERE " + DEAD
				+ " ORDER BY set_aside_at DESC LIMIT ?";
	}

	// It has a time, by which relays find what is pending again before their marks.
	private String retry(String which) {
		return "UPDATE " + this.table + " SET set_aside_at = NULL, next_attempt_at = " + now() + ", attempts = 0 WHERE "
				+ which + " AND " + DEAD;
	}

	String retry() {
		return retry("id = ?");
	}

	String retryOfTopic() {
		return retry(ofTopic());
	}

	private String ofTopic() {
		return "id IN (SELECT d.id FROM " + this.table + " d WHERE d.set_aside_at IS NOT NULL AND d.blocked_by IS NULL "
				+ "AND d.topic = ? ORDER BY d.position LIMIT ?)";
	}

	String discard() {
		return "DELETE FROM " + this.table + " WHERE id = ? AND " + DEAD;
	}

	String discardOfTopic() {
		return "DELETE FROM " + this.table + " WHERE " + ofTopic() + " AND " + DEAD;
	}

	/**
	 * Tell other relays of messages.
	 * @return the statement, if the database has something of the kind
	 */
	abstract @Nullable String notifyRelays();

	/**
	 * The statements of a claim.
	 *
	 * @param lockLanes locks lanes in which something is due. Parameters: {@code :some},
	 * how many lanes, and {@code :topics} to be left out, if there are some. First
	 * column: the lane
	 * @param rows the messages of lanes in their order. Parameters: {@code :lanes},
	 * {@code :topics}, and {@code :limit}, see {@link #limit}. Both have those of
	 * {@link OutboxMarks}, too
	 */
	record Claims(String lockLanes, String rows) {

	}

}
