/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.docs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.DoubleUnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;

/**
 * Calculates the table of {@code docs/sizing.md} from the constants of the page, and
 * compares the names of the constants with those that the calculator of the site reads.
 */
class SizingPageTests {

	private static final int DAYS = 7;

	private static final int PEAK = 3;

	private static final int DAY = 86_400;

	private static final String TEXT = read("../docs/sizing.md");

	private static final Map<String, Double> CONSTANTS = Pattern
		.compile("^\\| `(\\w+)` \\| ([\\d.,]+) \\|", Pattern.MULTILINE)
		.matcher(TEXT)
		.results()
		.collect(Collectors.toMap((row) -> row.group(1), (row) -> Double.valueOf(row.group(2).replace(",", ""))));

	private static final Map<String, Double> UNITS = Map.of("", 1.0, "million", 1e6, "MB", 1e6, "GB", 1e9, "TB", 1e12);

	private static String read(String file) {
		try {
			return Files.readString(Path.of(file));
		}
		catch (IOException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private static double constant(String name) {
		return CONSTANTS.get(name);
	}

	private static double images() {
		double changed = 300 * constant("keys_per_leaf") / (DAY * DAYS);
		return (1 - Math.exp(-changed)) / changed;
	}

	private static double wal(double keys) {
		return keys * (constant("w_claim") + constant("w_deletion") + images() * constant("w_image"));
	}

	static Stream<Arguments> rows() {
		return Stream.of(row("keys in the store", (keys) -> keys * DAYS),
				row("new keys a second, average", (keys) -> keys / DAY),
				row("at the peak (× 3)", (keys) -> PEAK * keys / DAY),
				row("PostgreSQL, transactional", (keys) -> keys * DAYS * constant("b_postgresql")),
				row("PostgreSQL, leased", (keys) -> keys * DAYS * constant("b_postgresql_leased")),
				row("primary key, a part of it", (keys) -> keys * DAYS / constant("keys_per_leaf") * 8_192),
				row("WAL a day, transactional", SizingPageTests::wal),
				row("WAL a day, leased", (keys) -> wal(keys) + keys * constant("w_completion")),
				row("writes a second at the peak (IOPS)", (keys) -> PEAK * keys / DAY * (1 + images())),
				row("expired keys a second", (keys) -> keys / DAY),
				row("MariaDB", (keys) -> keys * DAYS * constant("b_mariadb")),
				row("Redis, memory", (keys) -> keys * DAYS * constant("b_redis")),
				row("Redis, scripts a second at the peak", (keys) -> 2 * PEAK * keys / DAY),
				row("DynamoDB, items", (keys) -> keys * DAYS),
				row("DynamoDB, storage", (keys) -> keys * DAYS * constant("b_dynamodb")),
				row("DynamoDB, write units a second at the peak", (keys) -> 2 * PEAK * keys / DAY),
				row("DynamoDB, write units a month", (keys) -> 2 * 30 * keys));
	}

	private static Arguments row(String name, DoubleUnaryOperator formula) {
		return Arguments.of(name, formula);
	}

	@ParameterizedTest
	@MethodSource("rows")
	void rowFollowsFromTheConstants(String name, DoubleUnaryOperator formula) {
		List<Double> cells = TEXT.lines()
			.filter((line) -> line.startsWith("| " + name + " |"))
			.findFirst()
			.map((line) -> Stream.of(line.split("\\|")).skip(2).map(SizingPageTests::number).toList())
			.orElseThrow();
		assertThat(cells).hasSize(4);
		IntStream.range(0, cells.size())
			.forEach((i) -> assertThat(cells.get(i)).isCloseTo(formula.applyAsDouble(1e6 * Math.pow(10, i)),
					withinPercentage(1)));
	}

	private static double number(String cell) {
		String[] parts = cell.strip().split(" ");
		return Double.parseDouble(parts[0].replace(",", "")) * UNITS.get((parts.length > 1) ? parts[1] : "");
	}

	@Test
	void calculatorReadsConstantsOfThePage() {
		Set<String> read = Pattern.compile("constant\\.(\\w+)")
			.matcher(read("../docs/site/site.js"))
			.results()
			.map((name) -> name.group(1))
			.collect(Collectors.toSet());
		assertThat(read).isNotEmpty().isSubsetOf(CONSTANTS.keySet());
	}

}
