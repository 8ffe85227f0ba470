/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.util.Set;

import org.jspecify.annotations.Nullable;

/**
 * The statements of the outbox. A relay runs several statements one after the other on
 * purpose: those that follow the lock of a lane must read the rows as they are then.
 */
abstract class OutboxSql {

	static final int LANES = 64;

	// One relay leaves lanes to others.
	static final int LANES_OF_A_CLAIM = LANES / 2;

	static final String PENDING = "published_at IS NULL AND dead_letter_at IS NULL";

	// Excludes messages that only wait behind a dead letter.
	private static final String DEAD = "dead_letter_at IS NOT NULL AND blocked_by IS NULL";

	private static final String BLOCKED = "dead_letter_at IS NOT NULL AND blocked_by IS NOT NULL";

	// An earlier message with the same topic and key. Arguments: the table, the condition
	// for the same key, whether the lane has refused messages, the index.
	private static final String EARLIER = """
			FROM %1$s f%4$s WHERE f.lane = o.lane AND f.topic = o.topic AND %2$s
			    AND f.message_key = o.message_key AND f.position < o.position AND f.published_at IS NULL AND\s""";

	// The blocker is the first dead letter with the same topic and key. It costs one
	// index lookup for each row that is read, if its lane has refused messages. The
	// arguments are those of EARLIER.
	static final String COLUMNS = """
			id, position, lane, topic, message_key, payload, headers, idempotency_key, aggregatetype, aggregateid, type,
			  attempts, created_at, CURRENT_TIMESTAMP AS read_at,
			  CASE WHEN %3$s THEN (SELECT f.id\s""" + EARLIER
			+ """
					f.next_attempt_at IS NOT NULL AND f.dead_letter_at IS NOT NULL ORDER BY f.position LIMIT 1) END AS blocker""";

	// Excludes messages that are retried later and those that follow them. It costs
	// one index lookup for each row, if its lane has refused messages. NOT EXISTS
	// would be a join, which compares each row with all failed messages. Arguments: those
	// of EARLIER.
	static final String DUE = """
			o.published_at IS NULL AND o.dead_letter_at IS NULL
			  AND (o.next_attempt_at IS NULL OR o.next_attempt_at <= CURRENT_TIMESTAMP)
			  AND NOT CASE WHEN %3$s THEN COALESCE((SELECT TRUE\s""" + EARLIER + """
			f.dead_letter_at IS NULL AND f.next_attempt_at > CURRENT_TIMESTAMP ORDER BY f.position LIMIT 1), FALSE)
			  ELSE FALSE END""";

	// The order is random, so that no lane is neglected. Arguments: the table, further
	// columns, whether the lane has due messages.
	static final String LOCK_LANES = """
			SELECT l.lane%2$s FROM %1$s_lane l WHERE (%3$s) ORDER BY random() LIMIT :some FOR UPDATE SKIP LOCKED""";

	private final String table;

	private final String folder;

	private final Claims all;

	private final Claims some;

	OutboxSql(Object table, String folder, Claims all, Claims some) {
		this.table = table.toString();
		this.folder = folder;
		this.all = all;
		this.some = some;
	}

	String migrations() {
		return "dev/idempotency/jdbc/" + this.folder;
	}

	String table() {
		return this.table;
	}

	ValueTypes types() {
		return ValueTypes.STANDARD;
	}

	SqlStatement statement(String text) {
		return SqlStatement.of(text, types());
	}

	String allLanes() {
		return "SELECT lane FROM " + this.table + "_lane WHERE lane >= 0 AND lane < " + LANES;
	}

	// Reads whether change data capture receives the messages, that is, whether a
	// publication contains the table.
	@Nullable String inPublication() {
		return null;
	}

	// The beginning of a claim, sent in one round trip with its first statement. The
	// transaction is then READ COMMITTED, whatever the isolation of the connection,
	// and has the locks and the privileges that the following updates need.
	String begin(boolean delete) {
		return "";
	}

	// Limits the time for which the connection of a claim may be idle, so that the
	// lanes of a host that is gone or frozen become free.
	@Nullable String limitIdleTime() {
		return null;
	}

	@Nullable String restoreIdleTime() {
		return null;
	}

	Claims claims(Set<String> without) {
		return without.isEmpty() ? this.all : this.some;
	}

	// The limit of Claims.rows.
	int limit(int all, int lanes) {
		return (all + lanes - 1) / lanes;
	}

	// The ids of the parameter 'ids'.
	String ids() {
		return ":ids";
	}

	String update(String changes, String ids, String condition) {
		return "UPDATE " + this.table + " SET " + changes + " WHERE id = ANY(" + ids + ") AND " + condition;
	}

	String delete(String ids, String condition) {
		return "DELETE FROM " + this.table + " WHERE id = ANY(" + ids + ") AND " + condition;
	}

	String published(boolean delete) {
		return delete ? delete(ids(), PENDING) : update("published_at = " + now(), ids(), PENDING);
	}

	String failed() {
		return "UPDATE " + this.table
				+ " SET attempts = :attempts, error_type = :error_type, error_message = :error_message, "
				+ "next_attempt_at = " + later() + ", blocked_by = NULL, dead_letter_at = CASE WHEN :dead THEN " + now()
				+ " END WHERE id = :id AND " + PENDING;
	}

	// Blocks a message behind a dead letter with the same topic and key. The message
	// leaves the index of pending messages, so that no later claim reads it again.
	// Parameters: 'blocker', the id of the dead letter, and 'id'.
	String block() {
		return "UPDATE " + this.table + " SET blocked_by = :blocker, dead_letter_at = " + now() + ", next_attempt_at = "
				+ now() + " WHERE id = :id AND " + PENDING;
	}

	// Makes messages pending whose blocker is no dead letter any more. The next
	// claim detects whether another dead letter blocks them. Parameter: 'limit', in
	// the order of the messages.
	String unblock() {
		return unblock("""
				SELECT b.id FROM %1$s b WHERE b.dead_letter_at IS NOT NULL AND b.blocked_by IS NOT NULL
				  AND NOT EXISTS (SELECT 1 FROM %1$s f WHERE f.id = b.blocked_by AND f.dead_letter_at IS NOT NULL)
				ORDER BY b.position LIMIT :limit""".formatted(this.table));
	}

	// Makes all blocked messages pending. Parameter: 'limit', in the order of
	// the messages.
	String unblockAll() {
		return unblock(
				"SELECT id FROM " + this.table + " WHERE " + BLOCKED + " ORDER BY position LIMIT :limit" + unlocked());
	}

	// The messages keep the time of their next attempt, by which relays find them.
	final String unblock(String ids) {
		return update("dead_letter_at = NULL, blocked_by = NULL", ids, BLOCKED);
	}

	// Leaves out locked messages, where that does not lock more of them.
	String unlocked() {
		return " FOR UPDATE SKIP LOCKED";
	}

	// The time of the statement: its transaction may have begun long before.
	abstract String now();

	// Parameter: delay in milliseconds.
	abstract String later();

	// Reads the data that move the marks of the lanes, see OutboxMarks. Parameter:
	// 'starts', the position in each lane at which to begin. Columns: the server,
	// the last position, the open transactions that may have inserted messages, and
	// the first pending message of each lane.
	@Nullable String look() {
		return null;
	}

	// Counts messages at a limited cost. Parameters: 'most', the highest number to
	// count, and those of OutboxMarks.
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
		return "SELECT id, topic, aggregatetype, aggregateid, type, idempotency_key, created_at, dead_letter_at, attempts, "
				+ "error_type, error_message FROM " + this.table + " WHERE " + DEAD
				+ " ORDER BY dead_letter_at DESC LIMIT :limit";
	}

	// The message gets a time for its next attempt, by which relays find it before
	// their marks.
	private String retried() {
		return "dead_letter_at = NULL, next_attempt_at = " + now() + ", attempts = 0";
	}

	String retry() {
		return "UPDATE " + this.table + " SET " + retried() + " WHERE id = :id AND " + DEAD;
	}

	String retryOfTopic() {
		return update(retried(), ofTopic(), DEAD);
	}

	private String ofTopic() {
		return "SELECT id FROM " + this.table + " WHERE " + DEAD + " AND topic = :topic ORDER BY position LIMIT :limit";
	}

	String discard() {
		return "DELETE FROM " + this.table + " WHERE id = :id AND " + DEAD;
	}

	String discardOfTopic() {
		return delete(ofTopic(), DEAD);
	}

	@Nullable String notifyRelays() {
		return null;
	}

	/**
	 * The statements of a claim.
	 *
	 * @param lockLanes locks lanes with due messages. Parameters: {@code some}, the
	 * number of lanes; {@code topics} to leave out, if there are any; those of
	 * {@link OutboxMarks}. First column: the lane
	 * @param rows reads the due messages of lanes in their order. Parameters:
	 * {@code lanes}; {@code topics}; {@code limit}, see {@link #limit}; those of
	 * {@link OutboxMarks}
	 */
	record Claims(String lockLanes, String rows) {

	}

}
