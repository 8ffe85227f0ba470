package dev.idempotency.jdbc;

import java.util.function.Function;

import org.jspecify.annotations.Nullable;

/**
 * The statements for the marks of processed offsets. A statement that raises a mark sets
 * {@code previous_offset} to the mark before it, under the lock of the row, and returns
 * it. A read before or after that statement could see another transaction's mark.
 *
 * @param raise raises a mark. Parameters {@code id}, {@code scope}, {@code topic},
 * {@code partition}, {@code incarnation} and {@code offset}. Column: previous
 * @param raiseAll raises several marks in the order of their ids. Parameters as for
 * {@code raise}, as arrays. Columns: id, previous
 * @param written finds a mark that the current transaction has raised. Parameters
 * {@code id} and {@code offset}. {@code null} if the database does not roll back a whole
 * transaction after an error of one statement
 * @param find reads a mark. Parameter {@code id}
 * @param list lists marks. Parameter {@code limit}
 * @param ids finds the marks of a partition. Parameters {@code scope}, {@code topic} and
 * {@code partition}. Column: id
 * @param lower lowers a mark. Parameters {@code id} and {@code offset}
 * @param delete deletes a mark. Parameter {@code id}
 * @param types binds parameters and reads columns
 */
record OffsetSql(SqlStatement raise, SqlStatement raiseAll, @Nullable SqlStatement written, SqlStatement find,
		SqlStatement list, SqlStatement ids, SqlStatement lower, SqlStatement delete, ValueTypes types) {

	private static final String COLUMNS = "(id, scope, topic, topic_partition, topic_id, last_offset, updated_at)";

	private static final String PREVIOUS = "COALESCE(previous_offset, -1) AS previous";

	private static final String POSTGRES_RAISE = """
			INSERT INTO %1$s AS r\s""" + COLUMNS + """

			VALUES (:id::uuid, :scope::text, :topic::text, :partition::integer, :incarnation::uuid, :offset::bigint,
			  clock_timestamp())
			""";

	private static final String POSTGRES_RAISE_ALL = """
			INSERT INTO %1$s AS r\s""" + COLUMNS + """

			SELECT u.id, u.scope, u.topic, u.topic_partition, u.topic_id, u.last_offset, clock_timestamp()
			FROM unnest(:id::uuid[], :scope::text[], :topic::text[], :partition::integer[], :incarnation::uuid[],
			  :offset::bigint[]) AS u(id, scope, topic, topic_partition, topic_id, last_offset) ORDER BY u.id
			""";

	private static final String POSTGRES_CONFLICT = """
			ON CONFLICT (id) DO UPDATE SET previous_offset = r.last_offset,
			  last_offset = greatest(r.last_offset, excluded.last_offset), updated_at = excluded.updated_at
			RETURNING r.id, coalesce(r.previous_offset, -1) AS previous""";

	private static final String H2_ONE = """
			(SELECT CAST(:id AS UUID) AS id, CAST(:scope AS CHARACTER VARYING) AS scope,
			    CAST(:topic AS CHARACTER VARYING) AS topic, CAST(:partition AS INTEGER) AS topic_partition,
			    CAST(:incarnation AS UUID) AS topic_id, CAST(:offset AS BIGINT) AS last_offset) i""";

	private static final String H2_ALL = """
			(SELECT u.id, u.scope, u.topic, u.topic_partition, u.topic_id, u.last_offset
			  FROM UNNEST(CAST(:id AS UUID ARRAY), CAST(:scope AS CHARACTER VARYING ARRAY),
			    CAST(:topic AS CHARACTER VARYING ARRAY), CAST(:partition AS INTEGER ARRAY),
			    CAST(:incarnation AS UUID ARRAY), CAST(:offset AS BIGINT ARRAY))
			    AS u(id, scope, topic, topic_partition, topic_id, last_offset) ORDER BY u.id) i""";

	private static final String H2_RAISE = "SELECT id, " + PREVIOUS + " " + """
			FROM FINAL TABLE (
			 MERGE INTO %1$s r USING %2$s ON r.id = i.id
			 WHEN MATCHED THEN UPDATE SET previous_offset = r.last_offset,
			   last_offset = GREATEST(r.last_offset, i.last_offset), updated_at = CURRENT_TIMESTAMP
			 WHEN NOT MATCHED THEN INSERT\s""" + COLUMNS + """

			VALUES (i.id, i.scope, i.topic, i.topic_partition, i.topic_id, i.last_offset, CURRENT_TIMESTAMP))""";

	// The database evaluates the assignments one after the other.
	private static final String MYSQL_CONFLICT = """

			ON DUPLICATE KEY UPDATE previous_offset = last_offset, last_offset = GREATEST(last_offset, VALUES(last_offset)),
			  updated_at = VALUES(updated_at)""";

	private static final String MYSQL_RAISE = "INSERT INTO %1$s " + COLUMNS
			+ " VALUES (:id, :scope, :topic, :partition, :incarnation, :offset, UTC_TIMESTAMP(6))" + MYSQL_CONFLICT;

	private static final String MYSQL_KEYS = """
			JSON_TABLE(:rows, '$[*]' COLUMNS (
			    k_id CHAR(32) CHARACTER SET ascii PATH '$.id' ERROR ON ERROR,
			    k_scope VARCHAR(512) CHARACTER SET utf8mb4 PATH '$.scope' ERROR ON ERROR,
			    k_topic VARCHAR(249) CHARACTER SET utf8mb4 PATH '$.topic' ERROR ON ERROR,
			    k_partition INTEGER PATH '$.partition' ERROR ON ERROR,
			    k_topic_id CHAR(32) CHARACTER SET ascii PATH '$.incarnation' ERROR ON ERROR,
			    k_offset BIGINT PATH '$.offset' ERROR ON ERROR)) k""";

	private static final String MYSQL_RAISE_ALL = "INSERT INTO %1$s " + COLUMNS
			+ " SELECT UNHEX(k_id), k_scope, k_topic, k_partition, UNHEX(k_topic_id), k_offset, UTC_TIMESTAMP(6) FROM "
			+ MYSQL_KEYS + MYSQL_CONFLICT;

	// What follows the name of the table of the records in that of the marks.
	static final String SUFFIX = "_offset";

	static OffsetSql postgres(TableName records, StatementLimit limit) {
		String table = records + SUFFIX;
		return of(table, ValueTypes.STANDARD,
				SqlStatement.of((POSTGRES_RAISE + POSTGRES_CONFLICT).formatted(table)).limitedBy(limit),
				SqlStatement.of((POSTGRES_RAISE_ALL + POSTGRES_CONFLICT).formatted(table)).limitedBy(limit), null,
				(text) -> SqlStatement.of(text).limitedBy(limit));
	}

	static OffsetSql h2(TableName records) {
		String table = records + SUFFIX;
		return of(table, ValueTypes.STANDARD, SqlStatement.of(H2_RAISE.formatted(table, H2_ONE)),
				SqlStatement.of(H2_RAISE.formatted(table, H2_ALL)), null, SqlStatement::of);
	}

	static OffsetSql mySql(TableName records, boolean returning, MySqlLimit limit) {
		String table = records.withBackticks() + SUFFIX;
		String one = MYSQL_RAISE.formatted(table);
		String all = MYSQL_RAISE_ALL.formatted(table);
		String columns = "id, " + PREVIOUS;
		// The second statement locks the row: a transaction with an older snapshot would
		// read an older version of it.
		SqlStatement raise = returning ? limit.statement(one + " RETURNING " + columns) : limit.statement(one)
			.answeredBy(limit.statement("SELECT " + columns + " FROM " + table + " WHERE id = :id LOCK IN SHARE MODE"));
		SqlStatement raiseAll = returning ? limit.statement(all + " RETURNING " + columns)
				: limit.statement(all)
					.answeredBy(limit.statement("SELECT " + columns + " FROM " + MYSQL_KEYS + " STRAIGHT_JOIN " + table
							+ " r FORCE INDEX (PRIMARY) ON r.id = UNHEX(k_id) FOR SHARE OF r"));
		return of(
				table, MySqlTypes.INSTANCE, raise, raiseAll, SqlStatement
					.of("SELECT 1 FROM " + table + " WHERE id = :id AND last_offset >= :offset", MySqlTypes.INSTANCE),
				limit::statement);
	}

	private static OffsetSql of(String table, ValueTypes types, SqlStatement raise, SqlStatement raiseAll,
			@Nullable SqlStatement written, Function<String, SqlStatement> limited) {
		return new OffsetSql(raise, raiseAll, written,
				SqlStatement.of("SELECT last_offset FROM " + table + " WHERE id = :id", types),
				SqlStatement.of("SELECT scope, topic, topic_id, topic_partition, last_offset, updated_at FROM " + table
						+ " ORDER BY scope, topic, topic_partition, updated_at DESC LIMIT :limit", types),
				SqlStatement.of("SELECT id FROM " + table
						+ " WHERE scope = :scope AND topic = :topic AND topic_partition = :partition ORDER BY id",
						types),
				limited.apply("UPDATE " + table + " SET previous_offset = last_offset, last_offset = :offset"
						+ " WHERE id = :id AND last_offset > :offset"),
				limited.apply("DELETE FROM " + table + " WHERE id = :id"), types);
	}

}
