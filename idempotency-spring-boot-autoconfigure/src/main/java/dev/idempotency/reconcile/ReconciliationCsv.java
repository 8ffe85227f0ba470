/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.reconcile;

import java.util.Arrays;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;

/**
 * Writes listed records as comma-separated values (RFC 4180), one line for each.
 *
 * @since 0.1.0
 */
public final class ReconciliationCsv {

	/**
	 * The first line, with the names of the columns.
	 */
	public static final String HEADER = "topic,partition,offset,timestamp,status,scope,key,detail\r\n";

	// A spreadsheet runs a cell that begins with one of these characters as a formula, in
	// some countries also with their wide forms.
	private static final String FORMULA = "(?=[=+\\-@\uFF1D\uFF0B\uFF0D\uFF20])";

	// The beginning of a text, and within it a character that may begin a cell: the list
	// separator of some countries, a tab or a line break.
	private static final Pattern CELL = Pattern
		.compile("(?<first>^\\s*" + FORMULA + "|^(?=[\t\r\n]))|(?<separator>[;\t\r\n][\\s\"]*)" + FORMULA);

	private ReconciliationCsv() {
	}

	/**
	 * Write a record.
	 * @param finding the record
	 * @return its line, with its end
	 */
	public static String line(ReconciliationFinding finding) {
		return line(finding.topic(), finding.partition(), finding.offset(), finding.timestamp(), finding.status(),
				finding.scope(), finding.key(), finding.detail());
	}

	private static String line(@Nullable Object... values) {
		return Arrays.stream(values).map(ReconciliationCsv::field).collect(Collectors.joining(",", "", "\r\n"));
	}

	private static String field(@Nullable Object value) {
		String text = Objects.toString(value, "");
		if (value instanceof String) {
			text = CELL.matcher(text)
				.replaceAll((cell) -> (cell.group(1) != null) ? "'" + cell.group(1) : cell.group(2) + "'");
		}
		boolean plain = text.chars().noneMatch((c) -> c == '"' || c == ',' || c == '\r' || c == '\n');
		return plain ? text : '"' + text.replace("\"", "\"\"") + '"';
	}

}
