/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.nio.ByteBuffer;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.Base64;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.Map;
import java.util.Objects;
import java.util.StringJoiner;
import java.util.UUID;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

/**
 * The types of MariaDB and MySQL. A UUID is its 16 bytes. A time has no zone and is UTC,
 * so that neither the time zone of the session nor that of the driver matters. The rows
 * of a batch are one JSON document, in the order of their ids, so that all batches lock
 * records in the same order.
 */
final class MySqlTypes implements ValueTypes {

	static final MySqlTypes INSTANCE = new MySqlTypes();

	// The name of the parameter that contains all arrays.
	static final String ROWS = "rows";

	// The name of the parameter that contains the bytes of all tokens, one after
	// the other.
	static final String TOKENS = "tokens";

	// The characters that a JSON string cannot contain.
	private static final Pattern ESCAPED = Pattern.compile("[\"\\\\\\x00-\\x1f]");

	private static final String ID = "id";

	private static final String IDS = "CHAR(32) CHARACTER SET ascii";

	// The database would replace a value that is too long by NULL.
	private static final Map<String, String> COLUMNS = Map.ofEntries(Map.entry(ID, IDS), Map.entry("token", IDS),
			Map.entry("topic_id", IDS), Map.entry("scope", "VARCHAR(512) CHARACTER SET utf8mb4"),
			Map.entry("key", "VARCHAR(512) CHARACTER SET utf8mb4"),
			Map.entry("topic", "VARCHAR(249) CHARACTER SET utf8mb4"),
			Map.entry("fingerprint", "VARCHAR(340) CHARACTER SET ascii"),
			Map.entry("result", "LONGTEXT CHARACTER SET ascii"), Map.entry("topic_partition", "INTEGER"));

	private MySqlTypes() {
	}

	static SqlStatement statement(String text) {
		return SqlStatement.of(text, INSTANCE);
	}

	@Override
	public @Nullable Object bind(String name, Parameters parameters, Connection connection) throws SQLException {
		if (ROWS.equals(name)) {
			return rows(parameters.arrays());
		}
		if (TOKENS.equals(name)) {
			return tokens(parameters.elements("token"));
		}
		if (parameters.isArray(name)) {
			return array(parameters.elements(name));
		}
		Object value = parameters.value(name, connection);
		if (value instanceof UUID id) {
			return bytes(id);
		}
		return (value instanceof OffsetDateTime time) ? time.atZoneSameInstant(ZoneOffset.UTC).toLocalDateTime()
				: value;
	}

	@Override
	public @Nullable UUID uuid(ResultSet row, String column) throws SQLException {
		byte[] bytes = row.getBytes(column);
		if (bytes == null) {
			return null;
		}
		ByteBuffer buffer = ByteBuffer.wrap(bytes);
		return new UUID(buffer.getLong(), buffer.getLong());
	}

	@Override
	public @Nullable OffsetDateTime time(ResultSet row, int column) throws SQLException {
		LocalDateTime time = row.getObject(column, LocalDateTime.class);
		return (time != null) ? time.atOffset(ZoneOffset.UTC) : null;
	}

	static byte[] bytes(UUID id) {
		return ByteBuffer.allocate(16)
			.putLong(id.getMostSignificantBits())
			.putLong(id.getLeastSignificantBits())
			.array();
	}

	// The rows of all arrays as a table, whose columns have the prefix k_.
	static String rows(String... names) {
		return Stream.of(names)
			.map((name) -> "k_%1$s %2$s PATH '$.%1$s' ERROR ON ERROR".formatted(name,
					COLUMNS.getOrDefault(name, "BIGINT")))
			.collect(Collectors.joining(", ", "JSON_TABLE(:rows, '$[*]' COLUMNS (", ")) k"));
	}

	// Times have no zone.
	static String utc(String text) {
		return text.replace("CURRENT_TIMESTAMP", MySqlRecordSql.NOW);
	}

	// The parameters in a text as the columns of those rows.
	static String columns(String text) {
		return text.replaceAll(":(id|token|topic_id)\\b", "UNHEX(k_$1)")
			.replace(":fingerprint", "FROM_BASE64(k_fingerprint)")
			.replaceAll(":(scope|key|lease|retention|version|topic|topic_partition|last_offset)\\b", "k_$1");
	}

	private static String rows(Map<String, @Nullable Object[]> arrays) {
		int size = arrays.values().stream().mapToInt((elements) -> elements.length).max().orElse(0);
		@Nullable Object @Nullable [] ids = arrays.get(ID);
		Stream<Integer> rows = IntStream.range(0, size).boxed();
		if (ids != null) {
			// As the database compares the bytes. UUID compares signed numbers.
			rows = rows.sorted(Comparator.comparing((row) -> bytes((UUID) Objects.requireNonNull(ids[row])),
					Arrays::compareUnsigned));
		}
		return rows.map((row) -> object(arrays, row)).collect(Collectors.joining(",", "[", "]"));
	}

	private static String object(Map<String, @Nullable Object[]> arrays, int row) {
		StringJoiner json = new StringJoiner(",", "{", "}");
		arrays.forEach((name, elements) -> {
			Object element = elements[row];
			if (element != null) {
				json.add('"' + name + "\":" + json(element));
			}
		});
		return json.toString();
	}

	private static byte[] tokens(@Nullable Object[] tokens) {
		ByteBuffer bytes = ByteBuffer.allocate(16 * tokens.length);
		for (Object token : tokens) {
			bytes.put(bytes((UUID) Objects.requireNonNull(token)));
		}
		return bytes.array();
	}

	private static String array(@Nullable Object[] elements) {
		return Stream.of(elements)
			.map((element) -> json(Objects.requireNonNull(element)))
			.collect(Collectors.joining(",", "[", "]"));
	}

	private static String json(Object element) {
		if (element instanceof Number) {
			return element.toString();
		}
		if (element instanceof UUID id) {
			return '"' + HexFormat.of().formatHex(bytes(id)) + '"';
		}
		if (element instanceof byte[] bytes) {
			return '"' + Base64.getEncoder().encodeToString(bytes) + '"';
		}
		return '"' + ESCAPED.matcher(element.toString()).replaceAll(MySqlTypes::escape) + '"';
	}

	private static String escape(MatchResult found) {
		return "\\\\u" + HexFormat.of().toHexDigits(found.group().charAt(0));
	}

}
