/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.readme;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The files, commands and outputs of {@code docs/getting-started.md}.
 */
final class GettingStarted {

	private static final Markdown PAGE = Markdown.read(Path.of("../docs/getting-started.md"));

	private static final Pattern FILE = Pattern.compile("^`([\\w./-]+)`\\n\\n```\\w+\\n(.*?)^```$",
			Pattern.MULTILINE | Pattern.DOTALL);

	private GettingStarted() {
	}

	/**
	 * Return the files that the page creates.
	 * @return the contents by their paths
	 */
	static Map<String, String> files() {
		Map<String, String> files = new LinkedHashMap<>();
		FILE.matcher(PAGE.text()).results().forEach((file) -> files.put(file.group(1), file.group(2)));
		return files;
	}

	/**
	 * Return the Java sources.
	 * @return the contents by the names of their classes
	 */
	static Map<String, String> sources() {
		return files().entrySet()
			.stream()
			.filter((file) -> file.getKey().endsWith(".java"))
			.collect(Collectors.toMap((file) -> file.getKey().replaceAll(".*/|\\.java$", ""), Map.Entry::getValue));
	}

	/**
	 * Return the lines that the log of the service contains.
	 * @return the lines
	 */
	static List<String> log() {
		return Stream.of("Without Docker", "6. See that the duplicate was skipped")
			.flatMap((section) -> PAGE.section(section).blocks("").stream())
			.flatMap((block) -> block.content().lines())
			.filter((line) -> !line.startsWith("mvn "))
			.toList();
	}

	/**
	 * Return the commands with the outputs that the page shows.
	 * @return the commands in their order
	 */
	static List<Command> commands() {
		List<Command> commands = new ArrayList<>();
		for (Markdown.Block block : PAGE.blocks("console")) {
			for (String command : block.content().split("(?m)^\\$ ")) {
				if (!command.isBlank()) {
					String[] lines = command.split("\\n", 2);
					commands.add(new Command(lines[0], lines[1].strip()));
				}
			}
		}
		return commands;
	}

	/**
	 * A command.
	 *
	 * @param line the command line
	 * @param output the output that the page shows
	 */
	record Command(String line, String output) {

	}

}
