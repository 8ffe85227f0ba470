/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The parameters of a request as the rows of a query, for PostgreSQL and H2. A request
 * for one record has a parameter for each column. One for several records has an array
 * for each, and single parameters for the columns that are the same in all of them.
 */
final class RequestSql {

	private static final Map<String, String> TYPES = types(
			Map.of("uuid", "id token topic_id", "varchar", "scope key topic error_type error_message", "bytea",
					"fingerprint result", "bigint", "lease retention version last_offset", "integer",
					"fence attempt topic_partition", "character(1)", "state"));

	private static final List<String> CLAIM = List.of("id", "scope", "key", "token", "fingerprint", "lease",
			"retention", "version");

	private static final List<String> OF_ALL_CLAIMS = List.of("state", "fence", "attempt", "error_type",
			"error_message");

	// The columns that a claim inserts.
	static final String COLUMNS = """
			id, scope, "key", state, fence, attempt, token, fingerprint, lease_until, created_at, expires_at, completed_at,
			  version, decided_version, error_type, error_message""";

	private RequestSql() {
	}

	private static Map<String, String> types(Map<String, String> columns) {
		Map<String, String> types = new HashMap<>();
		columns.forEach((type, names) -> Stream.of(names.split(" ")).forEach((name) -> types.put(name, type)));
		return types;
	}

	static String one(String... columns) {
		return "SELECT " + single(List.of(columns));
	}

	static String all(String... columns) {
		return "SELECT * " + rows(List.of(columns));
	}

	// The claims of one or of several keys.
	static String claims(boolean several) {
		return several ? "SELECT a.*, " + single(OF_ALL_CLAIMS) + " " + rows(CLAIM)
				: "SELECT " + single(CLAIM) + ", " + single(OF_ALL_CLAIMS);
	}

	// The rows that claims insert, from a query for the claims and their time n.
	static String inserted(String claims) {
		return """
				SELECT id, scope, "key", state, fence, attempt, token, fingerprint,
				  n + lease * INTERVAL '0.001' SECOND AS lease_until, n AS created_at,
				  n + retention * INTERVAL '0.001' SECOND AS expires_at, CASE WHEN state = 'C' THEN n END AS completed_at,
				  version, CASE WHEN state = 'C' THEN version END AS decided_version, error_type, error_message
				FROM (%s) q"""
			.formatted(claims);
	}

	private static String single(List<String> columns) {
		return list(columns, "CAST(:%1$s AS %2$s) AS %3$s");
	}

	private static String rows(List<String> columns) {
		return "FROM unnest(" + list(columns, "CAST(:%1$s AS %2$s ARRAY)") + ") AS a(" + list(columns, "%3$s") + ")";
	}

	// A text for each column. Its arguments are the parameter, its type and the column.
	private static String list(List<String> columns, String text) {
		return columns.stream()
			.map((column) -> text.formatted(column, TYPES.get(column), "key".equals(column) ? "\"key\"" : column))
			.collect(Collectors.joining(", "));
	}

}
