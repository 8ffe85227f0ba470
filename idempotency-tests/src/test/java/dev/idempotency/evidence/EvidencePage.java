/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.evidence;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Writes the results as a page.
 */
final class EvidencePage {

	private static final String MARK = "<!-- The rest of this page is written by .ci/evidence. -->\n";

	private static final String MISSING = "not run";

	private final List<Exhibit> exhibits;

	private final Map<String, List<EvidenceRow>> rows;

	EvidencePage(List<Exhibit> exhibits, List<EvidenceRow> rows) {
		this.exhibits = exhibits;
		this.rows = rows.stream().collect(Collectors.groupingBy(EvidenceRow::exhibit));
	}

	// The first part of the page is written by hand.
	String replaceIn(String page) {
		return page.substring(0, page.indexOf(MARK) + MARK.length()) + "\n" + write();
	}

	private String write() {
		StringBuilder page = new StringBuilder();
		for (Section section : Section.values()) {
			List<Exhibit> ofSection = this.exhibits.stream().filter((exhibit) -> exhibit.section() == section).toList();
			if (!ofSection.isEmpty()) {
				page.append("## ").append(section.title()).append("\n\n").append(section.text()).append("\n\n");
				page.append(section.columns().isEmpty() ? byFigure(ofSection) : byExhibit(section, ofSection));
				page.append('\n');
			}
		}
		return page.append(allRuns()).toString();
	}

	private String byExhibit(Section section, List<Exhibit> ofSection) {
		List<String> lines = new ArrayList<>();
		lines.add(line(
				Stream.of(List.of("exhibit", "runs"), section.columns(), List.of("result")).flatMap(List::stream)));
		lines.add(line(Stream.generate(() -> "---").limit(section.columns().size() + 3L)));
		for (Exhibit exhibit : ofSection) {
			List<EvidenceRow> runs = runs(exhibit);
			Stream<String> figures = section.columns().stream().map((column) -> figure(section, runs, column));
			lines.add(
					line(Stream
						.of(Stream.of(exhibit.title(), runs.size() + " of " + exhibit.runs()), figures,
								Stream.of(result(exhibit)))
						.flatMap((part) -> part)));
		}
		return String.join("\n", lines) + "\n";
	}

	private String byFigure(List<Exhibit> ofSection) {
		StringBuilder text = new StringBuilder();
		for (Exhibit exhibit : ofSection) {
			List<EvidenceRow> runs = runs(exhibit);
			text.append("**").append(exhibit.title()).append("**: ").append(result(exhibit)).append("\n\n");
			if (!runs.isEmpty()) {
				text.append("| figure | value |\n|---|---|\n");
				runs.get(runs.size() - 1)
					.figures()
					.forEach((name, value) -> text.append(line(Stream.of(name, text(value)))).append('\n'));
				text.append('\n');
			}
		}
		return text.toString();
	}

	private static String figure(Section section, List<EvidenceRow> runs, String column) {
		List<Object> values = runs.stream().map((row) -> row.figures().get(column)).filter(Objects::nonNull).toList();
		if (values.isEmpty()) {
			return "";
		}
		boolean sum = section.summed() && values.stream().allMatch(Number.class::isInstance);
		return text(sum ? (Object) values.stream().mapToLong((value) -> ((Number) value).longValue()).sum()
				: values.get(values.size() - 1));
	}

	private static String text(Object value) {
		return (value instanceof Integer || value instanceof Long) ? "%,d".formatted(value) : value.toString();
	}

	private String result(Exhibit exhibit) {
		List<EvidenceRow> runs = runs(exhibit);
		List<EvidenceRow> failed = runs.stream().filter((row) -> !row.passed()).toList();
		if (!failed.isEmpty()) {
			return "❌ **" + failed.stream().map(EvidenceRow::violation).collect(Collectors.joining("; ")) + "**";
		}
		return runs.isEmpty() ? missing(exhibit) : (runs.size() < exhibit.runs()) ? "✔ so far" : "✔";
	}

	private String missing(Exhibit exhibit) {
		return this.rows.getOrDefault(exhibit.name(), List.of())
			.stream()
			.findFirst()
			.map((row) -> Finding.NOT_POSSIBLE + ": " + row.figures().get(Finding.NOT_POSSIBLE))
			.orElse(MISSING);
	}

	private List<EvidenceRow> runs(Exhibit exhibit) {
		return this.rows.getOrDefault(exhibit.name(), List.of()).stream().filter(EvidenceRow::isPossible).toList();
	}

	private String allRuns() {
		StringBuilder text = new StringBuilder("""
				## All runs

				| exhibit | commit | seed | date (UTC) | duration, s | result |
				|---|---|---|---|---|---|
				""");
		for (Exhibit exhibit : this.exhibits) {
			for (EvidenceRow row : runs(exhibit)) {
				text.append(line(Stream.of("`" + row.exhibit() + "`", row.commit(), String.valueOf(row.seed()),
						row.date().toString().substring(0, 16).replace('T', ' '), String.valueOf(row.seconds()),
						row.passed() ? "✔" : "❌")))
					.append('\n');
			}
		}
		return text.toString();
	}

	private static String line(Stream<String> cells) {
		return cells.map((cell) -> cell.replace("|", "\\|")).collect(Collectors.joining(" | ", "| ", " |"));
	}

}
