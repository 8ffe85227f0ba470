/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.readme;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A page of the documentation.
 *
 * @param file its file
 * @param text its text
 */
record Markdown(Path file, String text) {

	private static final Pattern BLOCK = Pattern.compile("^( *)```(\\w*)\\n(.*?)^ *```$",
			Pattern.MULTILINE | Pattern.DOTALL);

	private static final Pattern HEADING = Pattern.compile("^#+ +(.*)$", Pattern.MULTILINE);

	private static final Pattern LINK = Pattern.compile("\\]\\(([^()\\s]+)\\)|<img src=\"([^\"]+)\"|<(https?:[^>]*)>");

	private static final Path ROOT = Path.of("..");

	static Markdown read(Path file) {
		try {
			return new Markdown(file, Files.readString(file));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Return all pages: those of the root directory and those in {@code docs}.
	 * @return the pages
	 */
	static List<Markdown> pages() {
		try (Stream<Path> root = Files.list(ROOT); Stream<Path> docs = Files.walk(ROOT.resolve("docs"))) {
			return Stream.concat(root, docs)
				.filter((file) -> file.toString().endsWith(".md"))
				.sorted()
				.map(Markdown::read)
				.toList();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Return a section of this page, which ends at the next heading.
	 * @param heading the text of the heading
	 * @return the section
	 */
	Markdown section(String heading) {
		Matcher matcher = HEADING.matcher(withoutBlocks());
		int start = -1;
		while (matcher.find()) {
			if (start >= 0) {
				return new Markdown(this.file, this.text.substring(start, matcher.start()));
			}
			if (matcher.group(1).equals(heading)) {
				start = matcher.end();
			}
		}
		if (start < 0) {
			throw new IllegalArgumentException(this.file + " has no section '" + heading + "'");
		}
		return new Markdown(this.file, this.text.substring(start));
	}

	/**
	 * Return the code blocks of a language in their order.
	 * @param language the language
	 * @return the blocks
	 */
	List<Block> blocks(String language) {
		Matcher block = BLOCK.matcher(this.text);
		List<Block> blocks = new ArrayList<>();
		while (block.find()) {
			if (block.group(2).equals(language)) {
				int line = (int) this.text.substring(0, block.start()).lines().count() + 1;
				blocks.add(new Block(this.file.normalize() + ":" + line,
						block.group(3).stripTrailing().stripIndent() + "\n"));
			}
		}
		return blocks;
	}

	/**
	 * Return the targets of the links and images.
	 * @return the targets
	 */
	List<String> links() {
		return LINK.matcher(withoutBlocks().replaceAll("`[^`\n]*`", "code"))
			.results()
			.map((link) -> Stream.of(link.group(1), link.group(2), link.group(3))
				.filter((target) -> target != null)
				.findFirst()
				.orElseThrow())
			.toList();
	}

	/**
	 * Return the anchors of the headings, as GitHub generates them.
	 * @return the anchors
	 */
	Set<String> anchors() {
		Set<String> anchors = new HashSet<>();
		Map<String, Integer> numbers = new LinkedHashMap<>();
		HEADING.matcher(withoutBlocks()).results().forEach((heading) -> {
			String text = heading.group(1).replaceAll("\\[([^]]*)]\\([^)]*\\)", "$1");
			String anchor = text.toLowerCase().replaceAll("[^\\p{L}\\p{N} _-]", "").replace(' ', '-');
			int number = numbers.merge(anchor, 1, Integer::sum);
			anchors.add((number == 1) ? anchor : anchor + "-" + (number - 1));
		});
		return anchors;
	}

	// Of the same length, so that positions in it are positions in the text.
	private String withoutBlocks() {
		return BLOCK.matcher(this.text)
			.replaceAll((block) -> Matcher.quoteReplacement(block.group().replaceAll("[^\n]", " ")));
	}

	@Override
	public String toString() {
		return this.file.normalize().toString();
	}

	/**
	 * A code block.
	 *
	 * @param place its page and line
	 * @param content its content
	 */
	record Block(String place, String content) {

		@Override
		public String toString() {
			return this.place;
		}

	}

}
