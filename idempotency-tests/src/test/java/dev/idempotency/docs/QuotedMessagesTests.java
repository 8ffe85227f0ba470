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
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;

import dev.idempotency.testsupport.Library;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that the library has the messages that {@code docs/troubleshooting.md} quotes.
 */
class QuotedMessagesTests {

	private static final Pattern MESSAGES = Pattern.compile("^```text\\n(.*?)^```$",
			Pattern.MULTILINE | Pattern.DOTALL);

	// Each message of a block begins at the beginning of a line and has … for its values.
	private static final Pattern END = Pattern.compile("\\n(?! )|…");

	@Test
	void everyQuotedMessageIsInTheSources() throws IOException {
		String sources = sources();
		List<String> quotes = MESSAGES.matcher(Files.readString(Path.of("../docs/troubleshooting.md")))
			.results()
			.map((block) -> block.group(1))
			.flatMap(END::splitAsStream)
			.map((quote) -> quote.replaceAll("\\s+", " ").strip())
			.filter((quote) -> quote.length() > 3)
			.toList();
		assertThat(quotes).hasSizeGreaterThan(30).allMatch(sources::contains);
	}

	// The texts of the sources, with those that a sum joins in one piece.
	private static String sources() throws IOException {
		try (Stream<Path> files = Files.walk(Library.SOURCES)) {
			return files.filter((file) -> file.toString().endsWith(".java"))
				.map(QuotedMessagesTests::read)
				.map((source) -> source.replaceAll("\"\\s*\\+\\s*\"", ""))
				.map((source) -> source.replaceAll("\\s+", " "))
				.collect(Collectors.joining("\n"));
		}
	}

	private static String read(Path file) {
		try {
			return Files.readString(file);
		}
		catch (IOException ex) {
			throw new IllegalStateException(ex);
		}
	}

}
