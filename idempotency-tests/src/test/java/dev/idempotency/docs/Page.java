/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.docs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

/**
 * A page of the documentation whose commands a test runs.
 */
final class Page {

	private final String name;

	private final String text;

	private Page(String name, String text) {
		this.name = name;
		this.text = text;
	}

	static Page of(String name) {
		try {
			return new Page(name, Files.readString(Path.of("../docs/" + name)));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Return the first code block after a line.
	 * @param start the beginning of the line
	 * @return the code
	 */
	String blockAfter(String start) {
		int line = this.text.indexOf("\n" + start);
		int open = this.text.indexOf("\n```", line);
		int begin = this.text.indexOf('\n', open + 1) + 1;
		int end = this.text.indexOf("\n```", begin);
		if (line < 0 || open < 0 || end < 0) {
			throw new IllegalArgumentException(this.name + " has no block after '" + start + "'");
		}
		return this.text.substring(begin, end);
	}

	/**
	 * Return the statements of a code block.
	 * @param start the beginning of a line before the block
	 * @return the statements without comments
	 */
	List<String> statementsAfter(String start) {
		String code = Pattern.compile("(?m)--.*$").matcher(blockAfter(start)).replaceAll("");
		return Pattern.compile(";").splitAsStream(code).map(String::strip).filter((text) -> !text.isEmpty()).toList();
	}

}
