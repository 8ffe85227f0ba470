package dev.idempotency.jdbc;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import dev.idempotency.jdbc.RequiredColumn.Type;

/**
 * A table as the migrations create it. The checks at start-up and the decision which
 * migrations have been run by hand share this description: a migration that adds a column
 * adds it here, too.
 *
 * @param name its name, without a schema
 * @param columns its columns
 * @param privileges what the user of the store needs on it
 */
record RequiredTable(String name, List<RequiredColumn> columns, List<String> privileges) {

	/**
	 * The version of the migration that creates partitions.
	 */
	static final int PARTITIONS = 1000;

	// To send, and to count what waits.
	private static final List<String> OF_SENDER = List.of("SELECT", "INSERT");

	private static final List<String> ALL = List.of("SELECT", "INSERT", "UPDATE", "DELETE");

	private static final List<RequiredColumn> RECORD = List.of(RequiredColumn.inserted("id", Type.UUID, 1),
			RequiredColumn.inserted("scope", Type.TEXT, 1), RequiredColumn.inserted("key", Type.TEXT, 1),
			RequiredColumn.inserted("state", Type.LETTER, 1), RequiredColumn.inserted("fence", Type.INTEGER, 1),
			RequiredColumn.inserted("attempt", Type.INTEGER, 1), RequiredColumn.optional("token", Type.UUID, 1),
			RequiredColumn.optional("fingerprint", Type.BYTES, 1), RequiredColumn.optional("lease_until", Type.TIME, 1),
			RequiredColumn.inserted("created_at", Type.TIME, 1), RequiredColumn.inserted("expires_at", Type.TIME, 1),
			RequiredColumn.optional("result", Type.BYTES, 1), RequiredColumn.optional("error_type", Type.TEXT, 1),
			RequiredColumn.optional("error_message", Type.TEXT, 1),
			RequiredColumn.optional("completed_at", Type.TIME, 2));

	private static final List<RequiredColumn> PERIOD = List.of(
			RequiredColumn.inserted("period", Type.INTEGER, PARTITIONS),
			RequiredColumn.optional("closing", Type.INTEGER, PARTITIONS),
			RequiredColumn.inserted("since", Type.TIME, PARTITIONS));

	private static final List<RequiredColumn> MESSAGE = List.of(RequiredColumn.inserted("id", Type.UUID, 1),
			RequiredColumn.generated("position", Type.LONG, 1), RequiredColumn.inserted("lane", Type.SHORT, 1),
			RequiredColumn.inserted("aggregatetype", Type.TEXT, 1),
			RequiredColumn.inserted("aggregateid", Type.TEXT, 1), RequiredColumn.inserted("type", Type.TEXT, 1),
			RequiredColumn.inserted("topic", Type.TEXT, 1), RequiredColumn.optional("message_key", Type.BYTES, 1),
			RequiredColumn.optional("payload", Type.BYTES, 1), RequiredColumn.optional("headers", Type.TEXT, 1),
			RequiredColumn.inserted("idempotency_key", Type.TEXT, 1),
			RequiredColumn.generated("created_at", Type.TIME, 1), RequiredColumn.optional("published_at", Type.TIME, 1),
			RequiredColumn.generated("attempts", Type.INTEGER, 1),
			RequiredColumn.optional("next_attempt_at", Type.TIME, 1),
			RequiredColumn.optional("set_aside_at", Type.TIME, 1), RequiredColumn.optional("error_type", Type.TEXT, 1),
			RequiredColumn.optional("error_message", Type.TEXT, 1),
			RequiredColumn.optional("blocked_by", Type.UUID, 2));

	private static final List<RequiredColumn> LANE = List.of(RequiredColumn.inserted("lane", Type.SHORT, 1));

	/**
	 * The tables of the records.
	 * @param table the name of the main one
	 * @param layout how the records are kept
	 * @return the tables, the main one first
	 */
	static List<RequiredTable> ofRecords(TableName table, Layout layout) {
		if (layout == Layout.SINGLE) {
			return List.of(new RequiredTable(table.table(), RECORD, ALL));
		}
		List<RequiredColumn> columns = new ArrayList<>(RECORD);
		columns.add(RequiredColumn.inserted("period", Type.INTEGER, PARTITIONS));
		return List.of(new RequiredTable(table.table(), columns, ALL),
				new RequiredTable(table.table() + "_period", PERIOD, List.of("SELECT")));
	}

	/**
	 * The tables of an outbox.
	 * @param table the name of the main one
	 * @param onlySends whether others publish the messages and delete them
	 * @return the tables, the main one first
	 */
	static List<RequiredTable> ofOutbox(TableName table, boolean onlySends) {
		return List.of(new RequiredTable(table.table(), MESSAGE, onlySends ? OF_SENDER : ALL),
				// A relay locks its lanes.
				new RequiredTable(table.table() + "_lane", LANE,
						onlySends ? List.of("SELECT") : List.of("SELECT", "UPDATE")));
	}

	/**
	 * The last migration whose columns are there, though not necessarily by Flyway.
	 * @param tables the tables
	 * @param found their columns in the database
	 * @return the version, 0 if there are none of the first migration
	 */
	static int version(List<RequiredTable> tables, Map<String, Map<String, FoundColumn>> found) {
		Map<Integer, Boolean> complete = new HashMap<>();
		for (RequiredTable table : tables) {
			Map<String, FoundColumn> columns = found.getOrDefault(table.name(), Map.of());
			table.columns()
				.forEach((column) -> complete.merge(column.version(), columns.containsKey(column.name()),
						Boolean::logicalAnd));
		}
		if (!complete.getOrDefault(1, false)) {
			return 0;
		}
		return complete.entrySet().stream().filter(Map.Entry::getValue).mapToInt(Map.Entry::getKey).max().orElse(0);
	}

}
