/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the page about listeners: every test that it names exists.
 */
class ListenerTableTests {

	private static final Pattern TEST = Pattern.compile("`(\\w+Tests)`");

	@Test
	void namedTestsExist() throws IOException {
		Set<String> tests;
		try (Stream<Path> files = Files.walk(Path.of("src/test"))) {
			tests = files.map((file) -> file.getFileName().toString().replaceAll("\\.(java|kt)$", ""))
				.collect(Collectors.toSet());
		}
		String page = Files.readString(Path.of("../docs/listeners.md"));
		List<String> named = TEST.matcher(page).results().map((match) -> match.group(1)).distinct().toList();
		assertThat(named).hasSizeGreaterThan(10).isSubsetOf(tests);
		assertThat(page.lines().filter((line) -> line.startsWith("|")).flatMap((line) -> Stream.of(line.split("\\|"))))
			.filteredOn((cell) -> cell.contains("✓"))
			.hasSizeGreaterThan(20)
			.allMatch((cell) -> TEST.matcher(cell).find());
	}

}
