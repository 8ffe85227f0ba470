/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
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

	private static final List<Column> RECORD = columns(inserted(Type.UUID, "id"), inserted(Type.TEXT, "scope", "key"),
			inserted(Type.LETTER, "state"), inserted(Type.INTEGER, "fence", "attempt"),
			inserted(Type.TIME, "created_at", "expires_at"), optional(Type.UUID, "token"),
			optional(Type.BYTES, "fingerprint", "result"), optional(Type.TIME, "lease_until", "completed_at"),
			optional(Type.TEXT, "error_type", "error_message"), optional(Type.LONG, "version", "decided_version"));

	private static final List<Column> PERIOD = columns(inserted(Type.INTEGER, "period"), inserted(Type.TIME, "since"),
			optional(Type.INTEGER, "closing"));

	private static final List<Column> OFFSET = columns(inserted(Type.UUID, "id", "topic_id"),
			inserted(Type.TEXT, "scope", "topic"), inserted(Type.INTEGER, "topic_partition"),
			inserted(Type.LONG, "last_offset"), inserted(Type.TIME, "updated_at"),
			optional(Type.LONG, "previous_offset"), optional(Type.UUID, "token"));

	private static final List<Column> MESSAGE = columns(inserted(Type.UUID, "id"), inserted(Type.SHORT, "lane"),
			inserted(Type.TEXT, "aggregatetype", "aggregateid", "type", "topic", "idempotency_key"),
			generated(Type.LONG, "position"), generated(Type.TIME, "created_at"), generated(Type.INTEGER, "attempts"),
			optional(Type.BYTES, "message_key", "payload"), optional(Type.UUID, "blocked_by"),
			optional(Type.TEXT, "headers", "error_type", "error_message"),
			optional(Type.TIME, "published_at", "next_attempt_at", "dead_letter_at"));

	private static final List<Column> LANE = columns(inserted(Type.SHORT, "lane"));

	@SafeVarargs
	private static List<Column> columns(Stream<Column>... columns) {
		return Stream.of(columns).flatMap((some) -> some).toList();
	}

	// Every insert sets the columns.
	private static Stream<Column> inserted(Type type, String... names) {
		return columns(type, Value.INSERTED, names);
	}

	// Only some statements set the columns, which are null otherwise.
	private static Stream<Column> optional(Type type, String... names) {
		return columns(type, Value.OPTIONAL, names);
	}

	// The database sets the columns by a default or an identity. No insert names them.
	private static Stream<Column> generated(Type type, String... names) {
		return columns(type, Value.GENERATED, names);
	}

	private static Stream<Column> columns(Type type, Value value, String... names) {
		return Stream.of(names).map((name) -> new Column(name, type, value));
	}

	// The tables of the records and of the marks of processed offsets.
	static List<RequiredTable> ofRecords(TableName table, Layout layout) {
		RequiredTable offsets = new RequiredTable(table.table() + OffsetSql.SUFFIX, OFFSET, ALL);
		if (layout == Layout.SINGLE) {
			return List.of(new RequiredTable(table.table(), RECORD, ALL), offsets);
		}
		List<Column> columns = columns(RECORD.stream(), inserted(Type.INTEGER, "period"));
		return List.of(new RequiredTable(table.table(), columns, ALL),
				new RequiredTable(table.table() + "_period", PERIOD, List.of("SELECT")), offsets);
	}

	static List<RequiredTable> ofOutbox(TableName table, boolean onlySends) {
		return List.of(new RequiredTable(table.table(), MESSAGE, onlySends ? OF_SENDER : ALL),
				// A relay locks rows of this table.
				new RequiredTable(table.table() + "_lane", LANE,
						onlySends ? List.of("SELECT") : List.of("SELECT", "UPDATE")));
	}

	// The column whose values must be unique. The first insert of a value owns its key.
	String identity() {
		return this.columns.get(0).name();
	}

	// Nothing refers to a message by its id alone, and an application may partition
	// the table of its outbox.
	boolean isIdentified() {
		return this.columns != MESSAGE;
	}

	// The reasons why statements would fail.
	String problems(Map<String, FoundColumn> found, boolean mySql) {
		Map<String, FoundColumn> additional = new TreeMap<>(found);
		this.columns.forEach((column) -> additional.remove(column.name()));
		return Stream
			.concat(this.columns.stream().map((column) -> column.problem(found.get(column.name()), mySql)),
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

		@Nullable String problem(@Nullable FoundColumn found, boolean mySql) {
			if (found == null) {
				return "its column '" + this.name + "' is missing";
			}
			if (!this.type.isNamed(found.type())) {
				return "its column '" + this.name + "' is of the type " + found.type() + " instead of "
						+ (mySql ? this.type.mySql.get(0) : this.type.postgres);
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

		INSERTED, OPTIONAL, GENERATED

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
