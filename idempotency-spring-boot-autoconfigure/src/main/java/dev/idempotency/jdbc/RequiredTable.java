package dev.idempotency.jdbc;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

/**
 * A table as the migrations create it. Two users share this description: the checks at
 * start-up, and the detection of migrations that were run by hand. A migration that adds
 * a column also adds it here.
 *
 * @param name the name without a schema
 * @param columns the columns
 * @param privileges the privileges that the user of the store needs
 */
record RequiredTable(String name, List<Column> columns, List<String> privileges) {

	/**
	 * The version of the migration that creates partitions.
	 */
	static final int PARTITIONS = 1000;

	// A sender also counts the pending messages.
	private static final List<String> OF_SENDER = List.of("SELECT", "INSERT");

	private static final List<String> ALL = List.of("SELECT", "INSERT", "UPDATE", "DELETE");

	private static final List<Column> RECORD = List.of(Column.inserted("id", Type.UUID, 1),
			Column.inserted("scope", Type.TEXT, 1), Column.inserted("key", Type.TEXT, 1),
			Column.inserted("state", Type.LETTER, 1), Column.inserted("fence", Type.INTEGER, 1),
			Column.inserted("attempt", Type.INTEGER, 1), Column.optional("token", Type.UUID, 1),
			Column.optional("fingerprint", Type.BYTES, 1), Column.optional("lease_until", Type.TIME, 1),
			Column.inserted("created_at", Type.TIME, 1), Column.inserted("expires_at", Type.TIME, 1),
			Column.optional("result", Type.BYTES, 1), Column.optional("error_type", Type.TEXT, 1),
			Column.optional("error_message", Type.TEXT, 1), Column.optional("completed_at", Type.TIME, 2),
			// Their migration does nothing if they exist, so that they do not show a
			// version.
			Column.optional("version", Type.LONG, 2), Column.optional("decided_version", Type.LONG, 2));

	private static final List<Column> PERIOD = List.of(Column.inserted("period", Type.INTEGER, PARTITIONS),
			Column.optional("closing", Type.INTEGER, PARTITIONS), Column.inserted("since", Type.TIME, PARTITIONS));

	private static final List<Column> OFFSET = List.of(Column.inserted("id", Type.UUID, 1),
			Column.inserted("scope", Type.TEXT, 1), Column.inserted("topic", Type.TEXT, 1),
			Column.inserted("topic_partition", Type.INTEGER, 1), Column.inserted("topic_id", Type.UUID, 1),
			Column.inserted("last_offset", Type.LONG, 1), Column.optional("previous_offset", Type.LONG, 1),
			Column.inserted("updated_at", Type.TIME, 1));

	private static final List<Column> MESSAGE = List.of(Column.inserted("id", Type.UUID, 1),
			Column.generated("position", Type.LONG, 1), Column.inserted("lane", Type.SHORT, 1),
			Column.inserted("aggregatetype", Type.TEXT, 1), Column.inserted("aggregateid", Type.TEXT, 1),
			Column.inserted("type", Type.TEXT, 1), Column.inserted("topic", Type.TEXT, 1),
			Column.optional("message_key", Type.BYTES, 1), Column.optional("payload", Type.BYTES, 1),
			Column.optional("headers", Type.TEXT, 1), Column.inserted("idempotency_key", Type.TEXT, 1),
			Column.generated("created_at", Type.TIME, 1), Column.optional("published_at", Type.TIME, 1),
			Column.generated("attempts", Type.INTEGER, 1), Column.optional("next_attempt_at", Type.TIME, 1),
			Column.optional("set_aside_at", Type.TIME, 1), Column.optional("error_type", Type.TEXT, 1),
			Column.optional("error_message", Type.TEXT, 1), Column.optional("blocked_by", Type.UUID, 2));

	private static final List<Column> LANE = List.of(Column.inserted("lane", Type.SHORT, 1));

	/**
	 * The tables of the records.
	 */
	static List<RequiredTable> ofRecords(TableName table, Layout layout) {
		if (layout == Layout.SINGLE) {
			return List.of(new RequiredTable(table.table(), RECORD, ALL));
		}
		List<Column> columns = new ArrayList<>(RECORD);
		columns.add(Column.inserted("period", Type.INTEGER, PARTITIONS));
		return List.of(new RequiredTable(table.table(), columns, ALL),
				new RequiredTable(table.table() + "_period", PERIOD, List.of("SELECT")));
	}

	/**
	 * The table of the marks of processed offsets. Its migration does nothing if the
	 * table exists, so that its columns do not show a version.
	 */
	static RequiredTable ofOffsets(TableName table) {
		return new RequiredTable(table.table() + OffsetSql.SUFFIX, OFFSET, ALL);
	}

	/**
	 * The tables of an outbox.
	 */
	static List<RequiredTable> ofOutbox(TableName table, boolean onlySends) {
		return List.of(new RequiredTable(table.table(), MESSAGE, onlySends ? OF_SENDER : ALL),
				// A relay locks rows of this table.
				new RequiredTable(table.table() + "_lane", LANE,
						onlySends ? List.of("SELECT") : List.of("SELECT", "UPDATE")));
	}

	/**
	 * The last migration whose columns exist, which Flyway need not have run.
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

	/**
	 * The reasons why statements would fail.
	 */
	String problems(Map<String, FoundColumn> found, Function<Type, String> names) {
		Map<String, FoundColumn> additional = new TreeMap<>(found);
		this.columns.forEach((column) -> additional.remove(column.name()));
		return Stream
			.concat(this.columns.stream().map((column) -> column.problem(found.get(column.name()), names)),
					additional.values()
						.stream()
						.filter((column) -> column.notNull() && !column.generated())
						.map((column) -> "its additional column '" + column.name()
								+ "' is NOT NULL and has no default"))
			.filter(Objects::nonNull)
			.collect(Collectors.joining("; "));
	}

	/**
	 * A column that the statements use.
	 *
	 * @param name the name
	 * @param type the type
	 * @param value the origin of its value in a new row
	 * @param version the version of the migration that creates it
	 */
	record Column(String name, Type type, Value value, int version) {

		static Column inserted(String name, Type type, int version) {
			return new Column(name, type, Value.INSERTED, version);
		}

		static Column optional(String name, Type type, int version) {
			return new Column(name, type, Value.OPTIONAL, version);
		}

		static Column generated(String name, Type type, int version) {
			return new Column(name, type, Value.GENERATED, version);
		}

		@Nullable String problem(@Nullable FoundColumn found, Function<Type, String> names) {
			if (found == null) {
				return "its column '" + this.name + "' is missing";
			}
			if (!this.type.isNamed(found.type())) {
				return "its column '" + this.name + "' is of the type " + found.type() + " instead of "
						+ names.apply(this.type);
			}
			if (this.value == Value.OPTIONAL && found.notNull()) {
				return "its column '" + this.name + "' must not be NOT NULL";
			}
			return (this.value == Value.GENERATED && !found.generated())
					? "its column '" + this.name + "' has no default" : null;
		}

	}

	/**
	 * The origin of a column's value in a new row.
	 */
	enum Value {

		/**
		 * Every insert sets the column.
		 */
		INSERTED,

		/**
		 * Only some statements set the column, which is null otherwise.
		 */
		OPTIONAL,

		/**
		 * The database sets the column by a default or an identity. No insert names it.
		 */
		GENERATED

	}

	/**
	 * A type with its names in PostgreSQL, H2, and MariaDB and MySQL. The first name is
	 * the one in messages.
	 */
	enum Type {

		UUID("uuid", "UUID", "binary(16)"),

		TEXT("text", "CHARACTER VARYING", "varchar", "text", "mediumtext", "longtext"),

		LETTER("\"char\"", "CHARACTER", "char"),

		SHORT("smallint", "SMALLINT", "smallint"),

		INTEGER("integer", "INTEGER", "int"),

		LONG("bigint", "BIGINT", "bigint"),

		BYTES("bytea", "BINARY VARYING", "longblob", "varbinary", "mediumblob", "blob"),

		TIME("timestamp with time zone", "TIMESTAMP WITH TIME ZONE", "datetime(6)");

		private final String postgres;

		private final String h2;

		private final List<String> mySql;

		Type(String postgres, String h2, String... mySql) {
			this.postgres = postgres;
			this.h2 = h2;
			this.mySql = List.of(mySql);
		}

		boolean isNamed(String name) {
			return name.equals(this.postgres) || name.equalsIgnoreCase(this.h2) || this.mySql.contains(name);
		}

		String inMySql() {
			return this.mySql.get(0);
		}

		@Override
		public String toString() {
			return this.postgres;
		}

	}

	/**
	 * A column of a table in the database.
	 *
	 * @param name the name, in lower case
	 * @param type the type, as the database names it
	 * @param notNull whether the column is NOT NULL
	 * @param generated whether the database sets the column if an insert does not
	 */
	record FoundColumn(String name, String type, boolean notNull, boolean generated) {

	}

}
