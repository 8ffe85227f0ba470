package dev.idempotency.jdbc;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

/**
 * A table as the migrations create it. A migration that adds a column also adds it here.
 *
 * @param name the name without a schema
 * @param columns the columns
 * @param privileges the privileges that the user of the store needs
 */
record RequiredTable(String name, List<Column> columns, List<String> privileges) {

	// A sender also counts the pending messages.
	private static final List<String> OF_SENDER = List.of("SELECT", "INSERT");

	private static final List<String> ALL = List.of("SELECT", "INSERT", "UPDATE", "DELETE");

	private static final List<Column> RECORD = List.of(Column.inserted("id", Type.UUID),
			Column.inserted("scope", Type.TEXT), Column.inserted("key", Type.TEXT),
			Column.inserted("state", Type.LETTER), Column.inserted("fence", Type.INTEGER),
			Column.inserted("attempt", Type.INTEGER), Column.optional("token", Type.UUID),
			Column.optional("fingerprint", Type.BYTES), Column.optional("lease_until", Type.TIME),
			Column.inserted("created_at", Type.TIME), Column.inserted("expires_at", Type.TIME),
			Column.optional("result", Type.BYTES), Column.optional("error_type", Type.TEXT),
			Column.optional("error_message", Type.TEXT), Column.optional("completed_at", Type.TIME),
			Column.optional("version", Type.LONG), Column.optional("decided_version", Type.LONG));

	private static final List<Column> PERIOD = List.of(Column.inserted("period", Type.INTEGER),
			Column.optional("closing", Type.INTEGER), Column.inserted("since", Type.TIME));

	private static final List<Column> OFFSET = List.of(Column.inserted("id", Type.UUID),
			Column.inserted("scope", Type.TEXT), Column.inserted("topic", Type.TEXT),
			Column.inserted("topic_partition", Type.INTEGER), Column.inserted("topic_id", Type.UUID),
			Column.inserted("last_offset", Type.LONG), Column.optional("previous_offset", Type.LONG),
			Column.inserted("updated_at", Type.TIME));

	private static final List<Column> MESSAGE = List.of(Column.inserted("id", Type.UUID),
			Column.generated("position", Type.LONG), Column.inserted("lane", Type.SHORT),
			Column.inserted("aggregatetype", Type.TEXT), Column.inserted("aggregateid", Type.TEXT),
			Column.inserted("type", Type.TEXT), Column.inserted("topic", Type.TEXT),
			Column.optional("message_key", Type.BYTES), Column.optional("payload", Type.BYTES),
			Column.optional("headers", Type.TEXT), Column.inserted("idempotency_key", Type.TEXT),
			Column.generated("created_at", Type.TIME), Column.optional("published_at", Type.TIME),
			Column.generated("attempts", Type.INTEGER), Column.optional("next_attempt_at", Type.TIME),
			Column.optional("set_aside_at", Type.TIME), Column.optional("error_type", Type.TEXT),
			Column.optional("error_message", Type.TEXT), Column.optional("blocked_by", Type.UUID));

	private static final List<Column> LANE = List.of(Column.inserted("lane", Type.SHORT));

	// The tables of the records and of the marks of processed offsets.
	static List<RequiredTable> ofRecords(TableName table, Layout layout) {
		RequiredTable offsets = new RequiredTable(table.table() + OffsetSql.SUFFIX, OFFSET, ALL);
		if (layout == Layout.SINGLE) {
			return List.of(new RequiredTable(table.table(), RECORD, ALL), offsets);
		}
		List<Column> columns = new ArrayList<>(RECORD);
		columns.add(Column.inserted("period", Type.INTEGER));
		return List.of(new RequiredTable(table.table(), columns, ALL),
				new RequiredTable(table.table() + "_period", PERIOD, List.of("SELECT")), offsets);
	}

	static List<RequiredTable> ofOutbox(TableName table, boolean onlySends) {
		return List.of(new RequiredTable(table.table(), MESSAGE, onlySends ? OF_SENDER : ALL),
				// A relay locks rows of this table.
				new RequiredTable(table.table() + "_lane", LANE,
						onlySends ? List.of("SELECT") : List.of("SELECT", "UPDATE")));
	}

	// Whether a table with all columns exists.
	boolean isIn(Map<String, Map<String, FoundColumn>> found) {
		Map<String, FoundColumn> existing = found.getOrDefault(this.name, Map.of());
		return this.columns.stream().allMatch((column) -> existing.containsKey(column.name()));
	}

	// The reasons why statements would fail.
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
	 */
	record Column(String name, Type type, Value value) {

		static Column inserted(String name, Type type) {
			return new Column(name, type, Value.INSERTED);
		}

		static Column optional(String name, Type type) {
			return new Column(name, type, Value.OPTIONAL);
		}

		static Column generated(String name, Type type) {
			return new Column(name, type, Value.GENERATED);
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

		// Every insert sets the column.
		INSERTED,

		// Only some statements set the column, which is null otherwise.
		OPTIONAL,

		// The database sets the column by a default or an identity. No insert
		// names it.
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
