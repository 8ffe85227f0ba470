package dev.idempotency.jdbc;

import java.util.function.Function;

/**
 * The statements for parked records.
 *
 * @param own makes a consumer the owner of a partition. Parameters {@code id},
 * {@code scope}, {@code topic}, {@code partition} and {@code owner}
 * @param owner locks a partition until the end of the transaction. Parameter {@code id}.
 * Column: owner
 * @param exists finds out whether a record is parked. Parameter {@code id}
 * @param insert parks a record
 * @param waiting reads the records of a partition without their values. Parameter
 * {@code id}
 * @param find reads a record. Parameter {@code id}
 * @param count counts an attempt. Parameter {@code id}
 * @param delete deletes a record. Parameter {@code id}
 * @param summaries reads the number of records and the oldest one of each scope
 * @param list lists records. Parameter {@code limit}
 * @param types binds parameters and reads columns
 */
record ParkedSql(SqlStatement own, SqlStatement owner, SqlStatement exists, SqlStatement insert, SqlStatement waiting,
		SqlStatement find, SqlStatement count, SqlStatement delete, SqlStatement summaries, SqlStatement list,
		ValueTypes types) {

	/**
	 * What follows the name of the table of the records in that of the parked ones.
	 */
	static final String SUFFIX = "_parked";

	/**
	 * What follows the name of the table of the records in that of the owners.
	 */
	static final String OWNER_SUFFIX = "_parked_owner";

	private static final String OWNER_COLUMNS = "(id, scope, topic, topic_partition, owner, assigned_at)";

	private static final String OWNER_VALUES = " VALUES (:id, :scope, :topic, :partition, :owner, %s)";

	static ParkedSql postgres(TableName records, StatementLimit limit) {
		String own = "INSERT INTO " + records + OWNER_SUFFIX + " " + OWNER_COLUMNS
				+ OWNER_VALUES.formatted("clock_timestamp()")
				+ " ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, assigned_at = excluded.assigned_at";
		return of(records.toString(), own, ValueTypes.STANDARD, (text) -> SqlStatement.of(text).limitedBy(limit));
	}

	static ParkedSql h2(TableName records) {
		String own = "MERGE INTO " + records + OWNER_SUFFIX + " " + OWNER_COLUMNS + " KEY (id)"
				+ OWNER_VALUES.formatted("CURRENT_TIMESTAMP");
		return of(records.toString(), own, ValueTypes.STANDARD, SqlStatement::of);
	}

	static ParkedSql mySql(TableName records, MySqlLimit limit) {
		String own = "INSERT INTO " + records.withBackticks() + OWNER_SUFFIX + " " + OWNER_COLUMNS
				+ OWNER_VALUES.formatted("UTC_TIMESTAMP(6)")
				+ " ON DUPLICATE KEY UPDATE owner = VALUES(owner), assigned_at = VALUES(assigned_at)";
		return of(records.withBackticks(), own, MySqlTypes.INSTANCE, limit::statement);
	}

	private static ParkedSql of(String records, String own, ValueTypes types, Function<String, SqlStatement> limited) {
		String table = records + SUFFIX;
		return new ParkedSql(limited.apply(own),
				limited.apply("SELECT owner FROM " + records + OWNER_SUFFIX + " WHERE id = :id FOR UPDATE"),
				SqlStatement.of("SELECT 1 FROM " + table + " WHERE id = :id", types),
				SqlStatement.of("INSERT INTO " + table + " (id, partition_id, scope, topic, topic_partition, "
						+ "record_offset, record_timestamp, timestamp_type, message_key, headers, message_value) "
						+ "VALUES (:id, :partitionid, :scope, :topic, :partition, :offset, :timestamp, :type, :key, "
						+ ":headers, :value)", types),
				SqlStatement.of("SELECT id, record_offset, message_key, headers, parked_at FROM " + table
						+ " WHERE partition_id = :id ORDER BY position", types),
				SqlStatement.of("SELECT scope, topic, topic_partition, record_offset, record_timestamp, "
						+ "timestamp_type, message_key, headers, message_value FROM " + table + " WHERE id = :id",
						types),
				limited.apply("UPDATE " + table + " SET attempts = attempts + 1 WHERE id = :id"),
				limited.apply("DELETE FROM " + table + " WHERE id = :id"),
				SqlStatement.of("SELECT scope, COUNT(*) AS records, MIN(parked_at) AS oldest FROM " + table
						+ " GROUP BY scope ORDER BY scope", types),
				SqlStatement.of(
						"SELECT scope, topic, topic_partition, record_offset, message_key, attempts, parked_at "
								+ "FROM " + table + " ORDER BY scope, topic, topic_partition, position LIMIT :limit",
						types),
				types);
	}

}
