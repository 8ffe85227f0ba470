/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.util.function.Function;

import org.jspecify.annotations.Nullable;

/**
 * The statements for the marks of processed offsets. A statement that raises a mark sets
 * {@code previous_offset} to the mark before it, under the lock of the row, and returns
 * it. A read before or after that statement could see another transaction's mark.
 *
 * @param raise raises marks in the order of their ids. Parameters {@code id},
 * {@code scope}, {@code topic}, {@code topic_partition}, {@code topic_id},
 * {@code last_offset} and {@code token}, as arrays. Columns: id, previous
 * @param written finds a mark that the current transaction has raised. Parameters
 * {@code id} and {@code last_offset}. {@code null} if the database does not roll back a
 * whole transaction after an error of one statement
 * @param find reads a mark. Parameter {@code id}
 * @param list lists marks. Parameter {@code limit}
 * @param ids finds the marks of a partition. Parameters {@code scope}, {@code topic} and
 * {@code topic_partition}. Column: id
 * @param undo lowers a mark to the one before it. Parameters {@code id} and {@code token}
 * @param lower lowers a mark. Parameters {@code id} and {@code last_offset}
 * @param delete deletes a mark. Parameter {@code id}
 * @param types binds parameters and reads columns
 */
record OffsetSql(SqlStatement raise, @Nullable SqlStatement written, SqlStatement find, SqlStatement list,
		SqlStatement ids, SqlStatement undo, SqlStatement lower, SqlStatement delete, ValueTypes types) {

	private static final String[] NAMES = { "id", "scope", "topic", "topic_partition", "topic_id", "last_offset",
			"token" };

	private static final String COLUMNS = "(" + String.join(", ", NAMES) + ", updated_at)";

	private static final String PREVIOUS = "id, COALESCE(previous_offset, -1) AS previous";

	private static final String POSTGRES_RAISE = "INSERT INTO %1$s AS r " + COLUMNS
			+ " SELECT u.*, clock_timestamp() FROM (" + RequestSql.all(NAMES) + """
					) u ORDER BY u.id
					ON CONFLICT (id) DO UPDATE SET previous_offset = r.last_offset,
					  last_offset = greatest(r.last_offset, excluded.last_offset), updated_at = excluded.updated_at,
					  token = excluded.token
					RETURNING r.id, coalesce(r.previous_offset, -1) AS previous""";

	private static final String H2_RAISE = "SELECT " + PREVIOUS + " FROM FINAL TABLE (MERGE INTO %1$s r USING ("
			+ RequestSql.all(NAMES) + "\n" + """
					ORDER BY id) i ON r.id = i.id
					WHEN MATCHED THEN UPDATE SET previous_offset = r.last_offset,
					  last_offset = GREATEST(r.last_offset, i.last_offset), updated_at = CURRENT_TIMESTAMP,
					  token = i.token
					WHEN NOT MATCHED THEN INSERT\s""" + COLUMNS
			+ """
					VALUES (i.id, i.scope, i.topic, i.topic_partition, i.topic_id, i.last_offset, i.token, CURRENT_TIMESTAMP))""";

	private static final String MYSQL_ROWS = MySqlTypes.rows(NAMES);

	// The database evaluates the assignments one after the other.
	private static final String MYSQL_RAISE = "INSERT INTO %1$s " + COLUMNS + " SELECT "
			+ MySqlTypes.columns(":id, :scope, :topic, :topic_partition, :topic_id, :last_offset, :token")
			+ ", UTC_TIMESTAMP(6) FROM " + MYSQL_ROWS + "\n"
			+ """
					ON DUPLICATE KEY UPDATE previous_offset = last_offset, last_offset = GREATEST(last_offset, VALUES(last_offset)),
					 updated_at = VALUES(updated_at), token = VALUES(token)""";

	// What follows the name of the table of the records in that of the marks.
	static final String SUFFIX = "_offset";

	static OffsetSql postgres(TableName records, StatementLimit limit) {
		String table = records + SUFFIX;
		Function<String, SqlStatement> limited = (text) -> SqlStatement.of(text).limitedBy(limit);
		return of(table, ValueTypes.STANDARD, limited.apply(POSTGRES_RAISE.formatted(table)), null, limited);
	}

	static OffsetSql h2(TableName records) {
		String table = records + SUFFIX;
		return of(table, ValueTypes.STANDARD, SqlStatement.of(H2_RAISE.formatted(table)), null, SqlStatement::of);
	}

	static OffsetSql mySql(TableName records, MySqlLimit limit) {
		String table = records.withBackticks() + SUFFIX;
		SqlStatement raise = limit.answered(MYSQL_RAISE.formatted(table), PREVIOUS, PREVIOUS, MYSQL_ROWS
				+ " STRAIGHT_JOIN " + table + " r FORCE INDEX (PRIMARY) ON r.id = UNHEX(k_id) FOR SHARE OF r");
		SqlStatement written = SqlStatement
			.of("SELECT 1 FROM " + table + " WHERE id = :id AND last_offset >= :last_offset", MySqlTypes.INSTANCE);
		return of(table, MySqlTypes.INSTANCE, raise, written, limit::statement);
	}

	private static OffsetSql of(String table, ValueTypes types, SqlStatement raise, @Nullable SqlStatement written,
			Function<String, SqlStatement> limited) {
		return new OffsetSql(raise, written,
				SqlStatement.of("SELECT last_offset FROM " + table + " WHERE id = :id", types),
				SqlStatement.of("SELECT scope, topic, topic_id, topic_partition, last_offset, updated_at FROM " + table
						+ " ORDER BY scope, topic, topic_partition, updated_at DESC LIMIT :limit", types),
				SqlStatement.of("SELECT id FROM " + table
						+ " WHERE scope = :scope AND topic = :topic AND topic_partition = :topic_partition ORDER BY id",
						types),
				limited.apply("UPDATE " + table + " SET last_offset = COALESCE(previous_offset, -1), token = NULL"
						+ " WHERE id = :id AND token = :token"),
				limited.apply("UPDATE " + table + " SET previous_offset = last_offset, last_offset = :last_offset,"
						+ " token = NULL WHERE id = :id AND last_offset > :last_offset"),
				limited.apply("DELETE FROM " + table + " WHERE id = :id"), types);
	}

}
