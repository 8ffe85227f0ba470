package dev.idempotency.jdbc;

import java.util.Locale;
import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * The name of the table, with or without a schema; safe to be part of a statement.
 *
 * @param schema the schema, {@code null} for the connection's
 * @param table the table
 * @since 0.1.0
 */
public record TableName(@Nullable String schema, String table) {

	// 40 characters leave room for the name of the history table within 63.
	private static final Pattern IDENTIFIER = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,39}");

	public TableName {
		String name = (schema != null) ? schema + "." + table : table;
		check(table, name);
		if (schema != null) {
			check(schema, name);
			// As the database reads a name without quotes; Flyway quotes the schema.
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

	String historyTable() {
		return this.table + "_schema_history";
	}

	@Override
	public String toString() {
		return (this.schema != null) ? this.schema + "." + this.table : this.table;
	}

}
