/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.util.Locale;
import java.util.Objects;
import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * The name of a table with or without a schema, which is safe to be part of a statement.
 * A name without a schema is resolved once, when the store is created, because
 * connections may have different search paths and all keys must be in one table. Names
 * are kept in lower case, because the database ignores the case of a name without quotes.
 *
 * @param schema the schema, in double quotes if its case matters; {@code null} for the
 * schema in which the database finds the table at start-up
 * @param table the table
 */
record TableName(@Nullable String schema, String table) {

	// 40 characters leave room for the name of the history table within 63.
	private static final Pattern IDENTIFIER = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,39}");

	// Excludes characters that could end the name, a string or a format.
	private static final Pattern QUOTED = Pattern.compile("\"[^\"'`%$\\\\{}\\x00-\\x1f]{1,63}\"");

	// What follows the name of a table in that of the history of its migrations.
	static final String HISTORY = "_schema_history";

	TableName {
		String name = (schema != null) ? schema + "." + table : table;
		check(table, name);
		// Flyway quotes both names, but the scripts do not: use lower case.
		table = table.toLowerCase(Locale.ROOT);
		if (schema != null && !QUOTED.matcher(schema).matches()) {
			check(schema, name);
			schema = schema.toLowerCase(Locale.ROOT);
		}
	}

	static TableName of(String name) {
		int dot = name.indexOf('.');
		if (name.indexOf('"') >= 0) {
			check(name, name);
		}
		return (dot < 0) ? new TableName(null, name) : new TableName(name.substring(0, dot), name.substring(dot + 1));
	}

	private static void check(String identifier, String name) {
		IdempotencyConfigurationException.check(IDENTIFIER.matcher(identifier).matches(),
				"'" + name + "' is not a valid name for the idempotency table or the outbox.",
				"Set 'idempotency.jdbc.table' and 'idempotency.outbox.table' to at most 40 letters, digits and "
						+ "underscores, optionally after a schema and a dot.");
	}

	// Add a schema to a name that has none.
	TableName in(@Nullable String stored) {
		if (this.schema != null || stored == null) {
			return this;
		}
		String quoted = '"' + stored + '"';
		IdempotencyConfigurationException.check(QUOTED.matcher(quoted).matches(),
				"The schema '" + stored + "' of the table '" + this.table + "' contains unsupported characters.",
				"Put the table into another schema and name it with 'idempotency.jdbc.table' or "
						+ "'idempotency.outbox.table'.");
		return new TableName(quoted, this.table);
	}

	// The schema as the catalog of the database spells it.
	@Nullable String schemaName() {
		return (this.schema != null && this.schema.startsWith("\""))
				? this.schema.substring(1, this.schema.length() - 1) : this.schema;
	}

	// Whether both are one table of a database, however their schemas are quoted.
	boolean isSame(TableName other) {
		return this.table.equals(other.table) && Objects.equals(schemaName(), other.schemaName());
	}

	// The name as MariaDB and MySQL quote it.
	String withBackticks() {
		String stored = schemaName();
		return (stored != null) ? "`" + stored + "`." + this.table : this.table;
	}

	String historyTable() {
		return this.table + HISTORY;
	}

	@Override
	public String toString() {
		return (this.schema != null) ? this.schema + "." + this.table : this.table;
	}

}
