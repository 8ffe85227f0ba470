package dev.idempotency.jdbc;

import java.util.Locale;
import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * The name of the table, with or without a schema; safe to be part of a statement. A name
 * without a schema is resolved once, when the store is created: connections may have
 * different search paths, but a key is in one table only. Names are kept in lower case:
 * the database ignores the case of a name without quotes.
 *
 * @param schema the schema, in double quotes if the database keeps it with its exact
 * spelling; {@code null} for the one in which the database finds the table at start-up
 * @param table the table
 * @since 0.1.0
 */
public record TableName(@Nullable String schema, String table) {

	// 40 characters leave room for the name of the history table within 63.
	private static final Pattern IDENTIFIER = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,39}");

	// Nothing that could end the name, or a text or a format that it is part of.
	private static final Pattern QUOTED = Pattern.compile("\"[^\"'%$\\\\{}\\x00-\\x1f]{1,63}\"");

	public TableName {
		String name = (schema != null) ? schema + "." + table : table;
		check(table, name);
		// As the database reads a name without quotes; Flyway quotes both.
		table = table.toLowerCase(Locale.ROOT);
		if (schema != null && !QUOTED.matcher(schema).matches()) {
			check(schema, name);
			schema = schema.toLowerCase(Locale.ROOT);
		}
	}

	/**
	 * Read a name.
	 * @param name the name
	 * @return the name in its parts
	 * @throws IdempotencyConfigurationException if it is not a plain identifier
	 */
	public static TableName of(String name) {
		int dot = name.indexOf('.');
		if (name.indexOf('"') >= 0) {
			check(name, name);
		}
		return (dot < 0) ? new TableName(null, name) : new TableName(name.substring(0, dot), name.substring(dot + 1));
	}

	private static void check(String identifier, String name) {
		if (!IDENTIFIER.matcher(identifier).matches()) {
			throw new IdempotencyConfigurationException(
					"'" + name + "' is not a name for the idempotency table or the outbox.",
					"Set 'idempotency.jdbc.table' and 'idempotency.outbox.table' to letters, digits and underscores, 40 "
							+ "at most, with or without a schema and a dot before it.");
		}
	}

	/**
	 * Qualify a name that has no schema.
	 * @param stored the schema as the database spells it, {@code null} to leave the name
	 * as it is
	 * @return the name with a schema
	 */
	TableName in(@Nullable String stored) {
		if (this.schema != null || stored == null) {
			return this;
		}
		String quoted = '"' + stored + '"';
		if (!QUOTED.matcher(quoted).matches()) {
			throw new IdempotencyConfigurationException(
					"The schema '" + stored + "' of the table '" + this.table
							+ "' has characters that are not supported.",
					"Put the table into another schema, and name it with 'idempotency.jdbc.table' or "
							+ "'idempotency.outbox.table'.");
		}
		return new TableName(quoted, this.table);
	}

	/**
	 * The schema as the catalog of a database has it.
	 * @return its name without quotes, {@code null} if it is not known
	 */
	@Nullable String schemaName() {
		return (this.schema != null && this.schema.startsWith("\""))
				? this.schema.substring(1, this.schema.length() - 1) : this.schema;
	}

	String historyTable() {
		return this.table + "_schema_history";
	}

	@Override
	public String toString() {
		return (this.schema != null) ? this.schema + "." + this.table : this.table;
	}

}
