/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Set;
import java.util.function.UnaryOperator;

/**
 * MariaDB and MySQL, with the driver of either. Each call of the store is one statement
 * that commits itself, or several that need not be atomic, so that the isolation of the
 * session does not matter. In the transaction of a handler, each answer comes from a
 * statement that locks the record and reads its last version, not that of the snapshot.
 * The isolation is set for transactions that scan an index, because others would lock the
 * gaps between its entries.
 *
 * @param mariaDb whether the server is MariaDB
 */
record MySqlDialect(boolean mariaDb) implements Dialect {

	private static final int DUPLICATE = 1062;

	private static final int LOCK_TIMEOUT = 1205;

	private static final int DEADLOCK = 1213;

	// MariaDB with 'innodb_snapshot_isolation': another transaction has changed the
	// row since the snapshot.
	private static final int CHANGED = 1020;

	private static final int KILLED = 1317;

	// The time limits of MariaDB and MySQL, and NOWAIT.
	private static final Set<Integer> CONTENTION = Set.of(LOCK_TIMEOUT, DEADLOCK, CHANGED, KILLED, 1969, 3024, 3572);

	// Too many connections, shutdown, no memory, disk or table full, network, the
	// connection was killed or idle for too long, read-only after a failover.
	private static final Set<Integer> OUTAGE = Set.of(1037, 1038, 1040, 1021, 1041, 1053, 1077, 1078, 1079, 1114, 1129,
			1135, 1152, 1158, 1159, 1160, 1161, 1184, 1203, 1226, 1290, 1836, 1927, 3169, 4031);

	// Table, column, database, view or statement denied.
	static final Set<Integer> DENIED = Set.of(1142, 1143, 1044, 1345, 1227);

	private static final int PACKET_TOO_LARGE = 1153;

	// How COMPLETE_AND_CLAIM fails.
	private static final int OUT_OF_RANGE = 1690;

	// It has neither a state nor a code.
	private static final String CANCELLED = "com.mysql.cj.jdbc.exceptions.MySQLStatementCancelledException";

	private static final String EARLIEST = "TIMESTAMP'1000-01-01 00:00:00'";

	private static final String DELETION = """
			DELETE r FROM (SELECT id FROM %1$s WHERE %2$s <= UTC_TIMESTAMP(6) - INTERVAL :patience * 1000 MICROSECOND
			    AND %2$s >= COALESCE(:reached, %4$s)%3$s ORDER BY %2$s LIMIT :limit FOR UPDATE SKIP LOCKED) e
			STRAIGHT_JOIN %1$s r FORCE INDEX (PRIMARY) ON r.id = e.id""";

	// Deleted rows remain in the index while a snapshot is open, so the next batch begins
	// at the first row that this one has left.
	private static final String DELETED = """
			SELECT ROW_COUNT() AS deleted,
			  (SELECT %2$s FROM %1$s WHERE %2$s >= COALESCE(:reached, %4$s) ORDER BY %2$s LIMIT 1) AS last""";

	private static final String BACKLOG = """
			SELECT TIMESTAMPDIFF(MICROSECOND, %2$s, UTC_TIMESTAMP(6)) DIV 1000
			FROM %1$s WHERE %2$s <= UTC_TIMESTAMP(6)%3$s ORDER BY %2$s LIMIT 1""";

	@Override
	public RecordSql records(TableName table, Duration lockWait) {
		return new MySqlRecordSql(table, this.mariaDb, limit(lockWait),
				MySqlLimit.of(this.mariaDb, lockWait.dividedBy(4)));
	}

	// A busy server may be slow without a lock. The driver of MySQL needs more time for a
	// cancellation.
	private MySqlLimit limit(Duration lockWait) {
		return MySqlLimit.of(this.mariaDb, this.mariaDb ? lockWait.multipliedBy(3).dividedBy(2) : lockWait);
	}

	@Override
	public OutboxSql outbox(TableName table) {
		return new MySqlOutboxSql(table, this.mariaDb);
	}

	@Override
	public OffsetSql offsets(TableName table, Duration lockWait) {
		return OffsetSql.mySql(table, limit(lockWait));
	}

	@Override
	public Catalog catalog() {
		return new MySqlCatalog(this.mariaDb);
	}

	// Two batches never wait for each other, because each skips locked rows, so that no
	// turn is needed. A lock of a session, which GET_LOCK acquires, would remain in a
	// pooled connection.
	@Override
	public ExpirySql expired(TableName table, String time, String condition) {
		UnaryOperator<String> text = (format) -> format.formatted(table.withBackticks(), time,
				MySqlTypes.utc(condition), EARLIEST);
		return new ExpirySql(ExpirySql.NO_TURN,
				MySqlTypes.statement(text.apply(DELETION)).answeredBy(MySqlTypes.statement(text.apply(DELETED))),
				MySqlTypes.statement(text.apply(BACKLOG)));
	}

	@Override
	public boolean isolatesStatements() {
		return false;
	}

	@Override
	public boolean needsSavepoints() {
		// A claim of MySQL takes two statements, of which the second one may fail.
		return !this.mariaDb;
	}

	// Far below the usual 'max_allowed_packet', above which the server closes the
	// connection, and fast enough for the time limit.
	@Override
	public long maxResultBytes() {
		return 1 << 20;
	}

	@Override
	public ValueTypes types() {
		return MySqlTypes.INSTANCE;
	}

	@Override
	public boolean is(Problem problem, SQLException error) {
		int code = error.getErrorCode();
		String state = error.getSQLState();
		return switch (problem) {
			case DUPLICATE -> code == DUPLICATE;
			case NOT_OWNED -> code == OUT_OF_RANGE;
			case CONTENTION -> CONTENTION.contains(code) || CANCELLED.equals(error.getClass().getName());
			// With 'innodb_rollback_on_timeout', a lock timeout ends the transaction,
			// too.
			case TRANSACTION_ENDED -> code == DEADLOCK || code == CHANGED || code == LOCK_TIMEOUT;
			case REPEATABLE -> code == DEADLOCK || code == CHANGED;
			case OUTAGE -> OUTAGE.contains(code) || (Problem.isOutage(state) && code != PACKET_TOO_LARGE);
			case DENIED -> DENIED.contains(code);
			case PERMANENT -> Problem.isPermanent(state);
			case LOCKED, ISOLATION, ABORTED -> false;
		};
	}

}
