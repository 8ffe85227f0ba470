/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import org.springframework.util.StringUtils;

/**
 * The statements of an outbox in PostgreSQL. They read the beginning of each lane, or of
 * each topic in a lane if some topics are left out. If the statements prescribed less,
 * the planner would choose a join that reads all pending messages.
 */
final class PostgresOutboxSql extends OutboxSql {

	// The timeout is longer than a round. It frees the lanes of a host that is gone
	// or frozen; a shorter one of the server would end a round that waits for the
	// broker. The round waits for locked rows without a limit, because its messages
	// have been sent; it already has the locks of the tables.
	private static final String LIMITS = """
			, set_config('idle_in_transaction_session_timeout', '180000', true), set_config('lock_timeout', '0', true)""";

	// Before the first message is sent, the transaction checks the privileges and
	// takes the lock of the table that the following updates need, with which an
	// index build or ALTER TABLE conflicts. A host that is frozen while it reads is
	// not idle: the server waits for its socket, which tcp_user_timeout limits.
	private static final String BEGIN = """
			SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
			SET LOCAL lock_timeout = '2s';
			SET LOCAL tcp_user_timeout = '60s';
			UPDATE %1$s SET published_at = NULL, dead_letter_at = NULL, next_attempt_at = NULL, attempts = 0,
			  error_type = NULL, error_message = NULL WHERE FALSE;
			""";

	private static final String BEGIN_DELETE = "DELETE FROM %1$s WHERE FALSE;\n";

	// The index contains a hash, because a key may be too long for it. FIPS
	// forbids md5().
	private static final String SAME_KEY = "sha256(f.message_key) = sha256(o.message_key)";

	private static final String LANE_HAS_REFUSED = "l.refused";

	// The marks are valid for one server only.
	private static final String MARK = """
			CASE WHEN :server = extract(epoch FROM pg_postmaster_start_time())::text
			  THEN (:marks::bigint[])[l.lane + 1] ELSE 0 END""";

	// Messages before the mark that are pending again.
	private static final String RETRIED = "o.position < " + MARK + " AND o.next_attempt_at IS NOT NULL";

	private static final String SOME = """
			COALESCE((SELECT TRUE FROM %1$s o WHERE o.lane = l.lane AND o.position >= %4$s AND %2$s
			    ORDER BY o.position LIMIT 1),
			  (SELECT TRUE FROM %1$s o WHERE o.lane = l.lane AND %5$s AND %2$s
			    ORDER BY o.position LIMIT 1))""";

	// Steps from one topic to the next in the index, see "Loose indexscan" in
	// PostgreSQL's wiki.
	private static final String TOPICS = """
			WITH RECURSIVE t(topic) AS (
			  (SELECT o.topic FROM %1$s o WHERE o.lane = l.lane AND o.position >= %4$s
			    AND o.published_at IS NULL AND o.dead_letter_at IS NULL ORDER BY o.topic LIMIT 1)
			  UNION ALL SELECT (SELECT o.topic FROM %1$s o WHERE o.lane = l.lane AND o.topic > t.topic
			    AND o.position >= %4$s AND o.published_at IS NULL AND o.dead_letter_at IS NULL ORDER BY o.topic LIMIT 1)
			  FROM t WHERE t.topic IS NOT NULL)
			""";

	private static final String SOME_OF_OTHERS = "COALESCE((" + TOPICS + """
			SELECT TRUE FROM t WHERE t.topic <> ALL(:topics) AND (SELECT TRUE FROM %1$s o WHERE o.lane = l.lane
			  AND o.topic = t.topic AND o.position >= %4$s AND %2$s ORDER BY o.position LIMIT 1) LIMIT 1),
			(SELECT TRUE FROM %1$s o WHERE o.lane = l.lane AND %5$s AND o.topic <> ALL(:topics)
			  AND %2$s ORDER BY o.position LIMIT 1))""";

	private static final String FIRST = """
			SELECT q.* FROM (
			  (SELECT %3$s FROM %1$s o WHERE o.lane = l.lane AND o.position >= %4$s AND %2$s
			    ORDER BY o.position LIMIT :limit)
			  UNION ALL
			  (SELECT %3$s FROM %1$s o WHERE o.lane = l.lane AND %5$s AND %2$s
			    ORDER BY o.position LIMIT :limit)) q ORDER BY q.position LIMIT :limit""";

	private static final String FIRST_OF_OTHERS = TOPICS + """
			SELECT r.* FROM (
			  (SELECT q.* FROM (SELECT t.topic FROM t WHERE t.topic <> ALL(:topics)) w CROSS JOIN LATERAL (
			    SELECT %3$s FROM %1$s o WHERE o.lane = l.lane AND o.topic = w.topic AND o.position >= %4$s AND %2$s
			    ORDER BY o.position LIMIT :limit) q ORDER BY q.position LIMIT :limit)
			  UNION ALL
			  (SELECT %3$s FROM %1$s o WHERE o.lane = l.lane AND %5$s AND o.topic <> ALL(:topics)
			    AND %2$s ORDER BY o.position LIMIT :limit)) r ORDER BY r.position LIMIT :limit""";

	// The last position is read before the open transactions that may have taken one.
	// Relays hold the same lock but insert nothing, so that they are excluded.
	private static final String LOOK = """
			SELECT extract(epoch FROM pg_postmaster_start_time())::text, coalesce(s.position, 0), w.writers,
			  ARRAY(SELECT (SELECT o.position FROM %1$s o WHERE o.lane = m.number - 1 AND o.position >= m.start
			      AND o.published_at IS NULL AND o.dead_letter_at IS NULL ORDER BY o.position LIMIT 1)
			    FROM unnest(:starts::bigint[]) WITH ORDINALITY AS m(start, number) ORDER BY m.number)
			FROM (SELECT CASE WHEN has_sequence_privilege(q, 'USAGE, SELECT') THEN pg_sequence_last_value(q::regclass) END
			    FROM pg_get_serial_sequence('%1$s', 'position') q) s(position)
			  CROSS JOIN LATERAL (SELECT ARRAY(
			    SELECT k.virtualtransaction FROM pg_locks k
			    WHERE s.position > 0 AND k.locktype = 'relation' AND k.granted AND k.pid IS DISTINCT FROM pg_backend_pid()
			      AND k.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
			      AND k.relation IN ('%1$s'::regclass, '%1$s_lane'::regclass)
			    GROUP BY k.virtualtransaction
			    HAVING bool_or(k.relation = '%1$s'::regclass AND k.mode = 'RowExclusiveLock')
			      AND NOT bool_or(k.relation = '%1$s_lane'::regclass AND k.mode = 'RowShareLock'))) w(writers)""";

	// The first message of each lane is its oldest. Without statistics the planner
	// expects IS NOT NULL to be true for most rows and reads all of them. It does not
	// for a range.
	private static final String STATUS = """
			SELECT (SELECT count(*) FROM (SELECT 1 FROM generate_series(0, 63) l(lane) CROSS JOIN LATERAL (
			    (SELECT 1 FROM %1$s o WHERE o.lane = l.lane AND o.position >= %2$s AND %3$s ORDER BY o.position LIMIT :most)
			    UNION ALL (SELECT 1 FROM %1$s o WHERE o.lane = l.lane AND %4$s AND %3$s LIMIT :most)) c LIMIT :most) p),
			  (SELECT min(f.created_at) FROM generate_series(0, 63) l(lane) CROSS JOIN LATERAL (
			    (SELECT o.created_at FROM %1$s o WHERE o.lane = l.lane AND o.position >= %2$s AND %3$s
			      ORDER BY o.position LIMIT 1)
			    UNION ALL (SELECT o.created_at FROM %1$s o WHERE o.lane = l.lane AND %4$s AND %3$s
			      ORDER BY o.position LIMIT 1)) f), CURRENT_TIMESTAMP,
			  (SELECT count(*) FROM (SELECT 1 FROM %1$s WHERE dead_letter_at BETWEEN '-infinity' AND 'infinity'
			    AND blocked_by IS NULL LIMIT :most) s), b.blocked, b.oldest
			FROM (SELECT count(*) AS blocked, min(created_at) AS oldest FROM (SELECT created_at FROM %1$s
			  WHERE dead_letter_at BETWEEN '-infinity' AND 'infinity'
			    AND blocked_by >= '00000000-0000-0000-0000-000000000000' LIMIT :most) c) b""";

	// The limit of 16 MiB applies approximately, because the driver keeps all rows in
	// memory. PostgreSQL knows the size of a large payload without reading it. OFFSET
	// makes it search once for each lane, and not for each row, for refused messages.
	private static final String ROWS = """
			SELECT s.* FROM (
			  SELECT r.*, sum(coalesce(octet_length(r.payload), 0)) OVER (ORDER BY r.position
			    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS ahead
			  FROM (SELECT u.lane, COALESCE((SELECT TRUE FROM %1$s f WHERE f.lane = u.lane
			      AND f.published_at IS NULL AND f.next_attempt_at IS NOT NULL ORDER BY f.topic LIMIT 1), FALSE) AS refused
			    FROM unnest(:lanes::smallint[]) AS u(lane) OFFSET 0) l CROSS JOIN LATERAL (%2$s) r) s
			WHERE s.ahead IS NULL OR s.ahead < 16777216 ORDER BY s.position""";

	private static final String IN_PUBLICATION = """
			SELECT EXISTS (SELECT FROM pg_publication_tables p JOIN pg_namespace n ON n.nspname = p.schemaname
			  JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = p.tablename WHERE c.oid = '%s'::regclass)""";

	// Steps from one blocker to the next in the index, because many messages may wait
	// behind each. It skips locked messages until the next time.
	private static final String UNBLOCKED = """
			WITH RECURSIVE b(id) AS (
			  (SELECT o.blocked_by FROM %1$s o WHERE o.dead_letter_at IS NOT NULL AND o.blocked_by IS NOT NULL
			    ORDER BY o.blocked_by LIMIT 1)
			  UNION ALL SELECT (SELECT o.blocked_by FROM %1$s o WHERE o.dead_letter_at IS NOT NULL AND o.blocked_by > b.id
			    ORDER BY o.blocked_by LIMIT 1) FROM b WHERE b.id IS NOT NULL)
			SELECT w.id FROM b CROSS JOIN LATERAL (
			  SELECT o.id FROM %1$s o WHERE o.dead_letter_at IS NOT NULL AND o.blocked_by = b.id ORDER BY o.position
			  FOR UPDATE SKIP LOCKED) w
			WHERE NOT COALESCE((SELECT TRUE FROM %1$s f WHERE f.id = b.id AND f.dead_letter_at IS NOT NULL), FALSE)
			LIMIT :limit""";

	PostgresOutboxSql(TableName table) {
		super(table, "postgresql-outbox", claims(table, SOME, FIRST), claims(table, SOME_OF_OTHERS, FIRST_OF_OTHERS));
	}

	private static Claims claims(TableName table, String some, String first) {
		String hasSome = some.formatted(table, DUE.formatted(table, SAME_KEY, "TRUE", ""), "", MARK, RETRIED);
		String rows = first.formatted(table, DUE.formatted(table, SAME_KEY, LANE_HAS_REFUSED, ""),
				COLUMNS.formatted(table, SAME_KEY, LANE_HAS_REFUSED, ""), MARK, RETRIED);
		return new Claims(LOCK_LANES.formatted(table, LIMITS, hasSome), ROWS.formatted(table, rows));
	}

	@Override
	String look() {
		return LOOK.formatted(table());
	}

	@Override
	String status() {
		return STATUS.formatted(table(), MARK, PENDING, RETRIED);
	}

	@Override
	String now() {
		return "clock_timestamp()";
	}

	@Override
	String later() {
		return "clock_timestamp() + :delay::bigint * interval '1 ms'";
	}

	@Override
	String unblock() {
		return unblock(UNBLOCKED.formatted(table()));
	}

	@Override
	String notifyRelays() {
		return "SELECT pg_notify('" + StringUtils.unqualify(table()) + "', '')";
	}

	@Override
	String inPublication() {
		return IN_PUBLICATION.formatted(table());
	}

	// The settings are the transaction's and not the session's: behind a pooler,
	// other clients share the session.
	@Override
	String begin(boolean delete) {
		return (delete ? BEGIN + BEGIN_DELETE : BEGIN).formatted(table());
	}

}
