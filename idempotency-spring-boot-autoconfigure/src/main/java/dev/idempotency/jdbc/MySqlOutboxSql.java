/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import org.jspecify.annotations.Nullable;

/**
 * The statements of an outbox in MariaDB and MySQL. The index of pending messages begins
 * with the columns that are null for them, because an index cannot have a condition. The
 * statements name their index: with others, a claim would read all pending messages.
 */
final class MySqlOutboxSql extends OutboxSql {

	// An update would lock the lanes that the order reads before the limit.
	private static final String LOCK = """
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

	private final boolean mariaDb;

	MySqlOutboxSql(TableName table, boolean mariaDb) {
		super(table.withBackticks(), "mysql-outbox", claims(table, mariaDb, ""), claims(table, mariaDb, OTHERS));
		this.mariaDb = mariaDb;
	}

	private static Claims claims(TableName table, boolean mariaDb, String others) {
		String name = table.withBackticks();
		String index = table.table();
		String refused = " FORCE INDEX (" + index + "_refused)";
		String due = others + MySqlTypes.utc(DUE.formatted(name, "TRUE", "TRUE", refused));
		String columns = MySqlTypes.utc(COLUMNS.formatted(name, "TRUE", "TRUE", refused));
		return new Claims(LOCK.formatted(name, index, due, mariaDb ? "" : " OF l"),
				ROWS.formatted(name, index, columns, due));
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
	String ids() {
		return "SELECT UNHEX(k_id) AS id FROM JSON_TABLE(:ids, '$[*]' COLUMNS (k_id CHAR(32) CHARACTER SET ascii PATH '$')) k";
	}

	@Override
	String update(String changes, String ids, String condition) {
		return "UPDATE " + byId(ids) + " SET " + changes + " WHERE " + condition;
	}

	@Override
	String delete(String ids, String condition) {
		return "DELETE r FROM " + byId(ids) + " WHERE " + condition;
	}

	private String byId(String ids) {
		return "(" + ids + ") i STRAIGHT_JOIN " + table() + " r FORCE INDEX (PRIMARY) ON r.id = i.id";
	}

	@Override
	String now() {
		return MySqlRecordSql.NOW;
	}

	@Override
	String later() {
		return "UTC_TIMESTAMP(6) + INTERVAL :delay * 1000 MICROSECOND";
	}

	@Override
	String unlocked() {
		return "";
	}

	@Override
	String status() {
		return MySqlTypes.utc(super.status());
	}

}
