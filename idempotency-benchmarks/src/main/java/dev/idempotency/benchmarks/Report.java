/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Writes the figures as a chart and as Markdown between two markers of a page. The other
 * parts of the page are written by hand.
 */
final class Report {

	private static final String BEGIN = "<!-- figures: written by idempotency-benchmarks/run.sh -->";

	private static final String END = "<!-- end of figures -->";

	private final Options options;

	private final Machine machine;

	private final List<Delivered> delivered;

	private final List<Measured> measured;

	private final List<String> skipped;

	Report(Options options, Machine machine, List<Delivered> delivered, List<Measured> measured, List<String> skipped) {
		this.options = options;
		this.machine = machine;
		this.delivered = delivered;
		this.measured = measured;
		this.skipped = skipped;
	}

	void write() throws IOException {
		String figures = figures();
		System.out.println(figures);
		Path page = this.options.directory().resolve("benchmarks.md");
		Files.writeString(page, replace(Files.exists(page) ? Files.readString(page) : "", figures));
		Path chart = this.options.directory().resolve("benchmarks.svg");
		Files.writeString(chart, new Chart(shares()).toSvg());
		System.out.println("Written to " + page + " and " + chart);
	}

	private static String replace(String page, String figures) {
		int begin = page.indexOf(BEGIN);
		int end = page.indexOf(END);
		String before = (begin >= 0) ? page.substring(0, begin) : page;
		String after = (end >= 0) ? page.substring(end + END.length()) : "\n";
		return before + BEGIN + "\n\n" + figures + "\n" + END + after;
	}

	private List<Measured> goals() {
		return this.measured.stream().filter((row) -> row.work().goal() != null).toList();
	}

	// Without batches that are several times as fast, which would not fit the scale.
	private List<Measured> shares() {
		return this.measured.stream().filter((row) -> {
			Goal goal = row.work().goal();
			return goal != null && goal.floor() <= 1;
		}).toList();
	}

	private String figures() {
		StringBuilder text = new StringBuilder("## Measured on\n\n");
		this.machine.lines()
			.forEach((name, value) -> text.append("- ").append(name).append(": ").append(value).append('\n'));
		text.append("\n## Against the goals\n\n").append(Tables.goals(goals()));
		if (!this.delivered.isEmpty()) {
			text.append("\n## In the process\n\n").append(Tables.inProcess(this.delivered));
		}
		text.append("\n## All rows\n\n").append(Tables.all(this.measured));
		if (!this.skipped.isEmpty()) {
			text.append("\nNot measured:\n\n");
			this.skipped.forEach((line) -> text.append("- ").append(line).append('\n'));
		}
		return text.toString();
	}

}
