/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Set;

import org.jspecify.annotations.Nullable;

/**
 * H2, in its regular mode and with {@code MODE=PostgreSQL}.
 */
final class H2Dialect implements Dialect {

	private static final String DUPLICATE = "23505";

	private static final String LOCK_TIMEOUT = "HYT00";

	// Lock timeout, statement cancelled, deadlock, concurrent update.
	private static final Set<String> CONTENTION = Set.of(LOCK_TIMEOUT, "57014", "40001", "90131", DUPLICATE);

	// Object, connection or database closed or not found, file or memory error,
	// read-only.
	private static final Set<String> OUTAGE = Set.of("90007", "90013", "90020", "90028", "90031", "90067", "90097",
			"90098", "90108", "90121");

	private static final String DELETION = """
			SELECT COUNT(*), MAX(%2$s) FROM OLD TABLE (DELETE FROM %1$s WHERE id IN (
			  SELECT id FROM %1$s WHERE %2$s <= DATEADD(MILLISECOND, -CAST(:patience AS BIGINT), CURRENT_TIMESTAMP)
			    AND %2$s >= COALESCE(CAST(:reached AS TIMESTAMP WITH TIME ZONE), %2$s)%3$s
			  ORDER BY %2$s FETCH FIRST :limit ROWS ONLY FOR UPDATE SKIP LOCKED))""";

	private static final String BACKLOG = """
			SELECT DATEDIFF(MILLISECOND, %2$s, CURRENT_TIMESTAMP)
			FROM %1$s WHERE %2$s <= CURRENT_TIMESTAMP%3$s ORDER BY %2$s FETCH FIRST ROW ONLY""";

	@Override
	public RecordSql records(TableName table, Duration lockWait) {
		return new H2RecordSql(table);
	}

	@Override
	public OutboxSql outbox(TableName table) {
		return new Outbox(table);
	}

	@Override
	public OffsetSql offsets(TableName table, Duration lockWait) {
		return OffsetSql.h2(table);
	}

	@Override
	public Catalog catalog() {
		return new Schema();
	}

	@Override
	public ExpirySql expired(TableName table, String time, String condition) {
		return new ExpirySql(ExpirySql.NO_TURN, SqlStatement.of(DELETION.formatted(table, time, condition)),
				SqlStatement.of(BACKLOG.formatted(table, time, condition)));
	}

	// H2 can only set the isolation of a session.
	@Override
	public @Nullable String readCommitted() {
		return null;
	}

	// Only a lock can delay a statement of H2.
	@Override
	public int limit(Connection connection, Duration timeout) throws SQLException {
		int previous = SqlStatement.of("SELECT LOCK_TIMEOUT()")
			.first(connection, Parameters.none(), (row) -> row.getInt(1))
			.orElseThrow();
		restore(connection, (int) timeout.toMillis() / 2);
		return previous;
	}

	@Override
	public void restore(Connection connection, int limit) throws SQLException {
		SqlStatement.of("SET LOCK_TIMEOUT " + limit).update(connection, Parameters.none());
	}

	@Override
	public boolean is(Problem problem, SQLException error) {
		String state = String.valueOf(error.getSQLState());
		return switch (problem) {
			case DUPLICATE -> DUPLICATE.equals(state);
			case CONTENTION -> CONTENTION.contains(state);
			case OUTAGE -> Problem.isOutage(error.getSQLState()) || OUTAGE.contains(state);
			case PERMANENT -> Problem.isPermanent(state);
			// H2 is supported for tests only, whose user is an administrator. A failed
			// statement does not affect its transaction.
			case DENIED, LOCKED, ISOLATION, ABORTED, NOT_OWNED, TRANSACTION_ENDED, REPEATABLE -> false;
		};
	}

	/**
	 * The catalog of H2. It checks no privileges, because H2 is supported for tests only.
	 */
	private static final class Schema extends Catalog {

		// The settings of H2 determine the case of unquoted names.
		private static final String COLUMNS = """
				SELECT LOWER(TABLE_NAME), LOWER(COLUMN_NAME), DATA_TYPE, IS_NULLABLE = 'NO',
				  COLUMN_DEFAULT IS NOT NULL OR IS_IDENTITY = 'YES' OR IS_GENERATED = 'ALWAYS'
				FROM INFORMATION_SCHEMA.COLUMNS WHERE LOWER(TABLE_SCHEMA) = LOWER(:schema) AND LOWER(TABLE_NAME) = ANY (:names)""";

		private static final String UNIQUE = """
				SELECT 1 FROM INFORMATION_SCHEMA.INDEX_COLUMNS
				WHERE LOWER(TABLE_SCHEMA) = LOWER(:schema) AND LOWER(TABLE_NAME) = :name AND IS_UNIQUE
				GROUP BY INDEX_NAME HAVING COUNT(*) = 1 AND LOWER(MAX(COLUMN_NAME)) = :column LIMIT 1""";

		Schema() {
			super("dev/idempotency/jdbc/h2", COLUMNS, UNIQUE, "SELECT CURRENT_CATALOG || COALESCE(DATABASE_PATH(), '')",
					ValueTypes.STANDARD);
		}

		@Override
		@Nullable String schema(Connection connection, TableName table) throws SQLException {
			return connection.getSchema();
		}

	}

	private static final class Outbox extends OutboxSql {

		private static final String SOME = """
				SELECT TRUE FROM %1$s o WHERE o.lane = l.lane AND %2$s ORDER BY o.position LIMIT 1""";

		private static final String ROWS = """
				SELECT %3$s FROM %1$s o WHERE o.lane = ANY(:lanes) AND %2$s ORDER BY o.position LIMIT :limit""";

		private static final String OTHERS = "NOT (o.topic = ANY(:topics)) AND ";

		Outbox(TableName table) {
			super(table, "h2-outbox", claims(table, ""), claims(table, OTHERS));
		}

		// H2 is supported for tests only: the statement may read all pending messages.
		private static Claims claims(TableName table, String others) {
			String due = others + DUE.formatted(table, "TRUE", "TRUE", "");
			String rows = ROWS.formatted(table, due, COLUMNS.formatted(table, "TRUE", "TRUE", ""));
			return new Claims(LOCK_LANES.formatted(table, "", SOME.formatted(table, due)), rows);
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

	}

}
