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
import java.util.Arrays;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Compares the text of {@code docs/benchmarks.md} with the figures that the benchmarks
 * have written, and the round trips with the costs that the library states.
 */
class BenchmarksPageTests {

	private static final Pattern RATIO = Pattern.compile("\\d+\\.\\d\\d");

	private static final String TEXT = read();

	private static String read() {
		try {
			return Files.readString(Path.of("../docs/benchmarks.md"));
		}
		catch (IOException ex) {
			throw new IllegalStateException(ex);
		}
	}

	// The cells of the rows of the first table after a text.
	private static Stream<String[]> rows(String start) {
		return TEXT.substring(TEXT.indexOf("\n" + start))
			.lines()
			.dropWhile((line) -> !line.startsWith("|---"))
			.skip(1)
			.takeWhile((line) -> line.startsWith("|"))
			.map((line) -> Arrays.stream(line.split("\\|")).map(String::strip).skip(1).toArray(String[]::new));
	}

	static Stream<String> answers() {
		return rows("This page").flatMap((row) -> RATIO.matcher(row[2]).results().map(MatchResult::group));
	}

	@ParameterizedTest
	@MethodSource("answers")
	void answerIsARatioOfTheTableWithOneThread(String ratio) {
		assertThat(rows("## Against the goals").filter((row) -> row[2].equals("1")).map((row) -> row[3]))
			.anyMatch((measured) -> measured.startsWith("**" + ratio + "**"));
	}

	@Test
	void thereAreAnswersAndRows() {
		assertThat(answers()).hasSizeGreaterThan(5);
		assertThat(roundTrips()).hasSizeGreaterThan(40);
	}

	static Stream<List<String>> roundTrips() {
		return rows("## All rows").map((row) -> List.of(row[0], row[1], row[4], row[7]));
	}

	@ParameterizedTest
	@MethodSource
	void roundTrips(List<String> row) {
		String work = row.get(0);
		double limit = Double.parseDouble(row.get(2));
		double guarded = Double.parseDouble(row.get(3));
		assertThat(limit).as("the limit of " + work).isNotNegative().isLessThanOrEqualTo(4);
		if (work.startsWith("leased")) {
			assertThat(guarded).as(work).isLessThanOrEqualTo(work.endsWith(", duplicates") ? 1 : 2);
		}
		else {
			int more = work.contains("beside") ? 0 : 1;
			assertThat(guarded - limit).as(work).isLessThanOrEqualTo(work.contains("MariaDB") ? more + 1 : more);
		}
	}

}
