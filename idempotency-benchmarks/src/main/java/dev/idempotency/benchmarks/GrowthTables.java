/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

import dev.idempotency.benchmarks.GrownTable.Figures;
import dev.idempotency.benchmarks.GrownTable.Pages;
import dev.idempotency.jdbc.Layout;

/**
 * The tables of the growth, one set for each layout.
 */
final class GrowthTables {

	// The default of PostgreSQL.
	private static final int CHECKPOINT_SECONDS = 300;

	private static final int FACTOR = 10;

	private GrowthTables() {
	}

	static String of(Layout layout, List<Row> rows) {
		StringBuilder text = new StringBuilder();
		add(text, "%n### Layout %s%n", layout.name().toLowerCase(Locale.ROOT));
		measured(text, "long after a checkpoint", rows, Row::later);
		measured(text, "the first claims after a checkpoint", rows, Row::first);
		pages(text, rows);
		return text.toString();
	}

	private static void measured(StringBuilder text, String when, List<Row> rows,
			Function<Row, List<Figures>> windows) {
		add(text, """

				| existing keys, %s | claims/s (range) | ratio to the first row (range) | WAL bytes per claim (range) \
				| full-page images | buffer hits per claim (range) | reads (range) |
				|---|---|---|---|---|---|---|
				""", when);
		for (Row row : rows) {
			List<Figures> all = windows.apply(row);
			add(text, "| %,d | %s | **%s** | %s | %s | %s | %s |%n", row.size(), format(all, Figures::rate, "%,.0f"),
					ratios(all, windows.apply(rows.get(0))), format(all, Figures::wal, "%,.0f"),
					format(all, Figures::images, "%.2f"), format(all, Figures::hits, "%.1f"),
					format(all, Figures::reads, "%.2f"));
		}
	}

	private static String ratios(List<Figures> rounds, List<Figures> first) {
		List<Double> ratios = new ArrayList<>();
		for (int i = 0; i < rounds.size(); i++) {
			ratios.add(rounds.get(i).rate() / first.get(i).rate());
		}
		return Sample.of(ratios).format("%.2f");
	}

	private static String format(List<Figures> rounds, ToDoubleFunction<Figures> figure, String format) {
		return Sample.of(rounds.stream().map((one) -> figure.applyAsDouble(one)).toList()).format(format);
	}

	private static double median(List<Figures> rounds, ToDoubleFunction<Figures> figure) {
		return Sample.of(rounds.stream().map((one) -> figure.applyAsDouble(one)).toList()).median();
	}

	// The last row is calculated.
	private static void pages(StringBuilder text, List<Row> rows) {
		Row largest = rows.get(rows.size() - 1);
		add(text,
				"""

						| existing keys | rows, MB | indexes, MB | bytes per key | primary keys | pages of the primary keys by level \
						| images per claim, a checkpoint every %d s | WAL bytes per claim |
						|---|---|---|---|---|---|---|---|
						""",
				CHECKPOINT_SECONDS);
		for (Row row : rows) {
			pages(text, String.format(Locale.ROOT, "%,d", row.size()), row.size(), row.pages(), largest);
		}
		long size = (long) largest.size() * FACTOR;
		pages(text, String.format(Locale.ROOT, "%,d, calculated", size), size, largest.pages().times(FACTOR), largest);
	}

	// Each claim changes a random leaf of a tree. Of L leaves, C claims between
	// two checkpoints change L * (1 - e^(-C / L)) for the first time. In the
	// partitioned layout, new keys change the leaves of one partition only.
	private static void pages(StringBuilder text, String name, long size, Pages pages, Row measured) {
		double claims = median(measured.later(), Figures::rate) * CHECKPOINT_SECONDS;
		double leaves = Math.max(1, (double) pages.leaves() / Math.max(1, pages.trees()));
		double images = leaves * -Math.expm1(-claims / leaves) / claims;
		double perImage = (median(measured.first(), Figures::wal) - median(measured.later(), Figures::wal))
				/ Math.max(0.001, median(measured.first(), Figures::images));
		add(text, "| %s | %,d | %,d | %,d | %d | %s | %.3f | %,.0f |%n", name, pages.heap() / 128,
				pages.indexes() / 128, (pages.heap() + pages.indexes()) * 8192 / size, pages.trees(), pages.describe(),
				images, median(measured.later(), Figures::wal) + images * perImage);
	}

	private static void add(StringBuilder text, String format, Object... values) {
		text.append(String.format(Locale.ROOT, format, values));
	}

	/**
	 * The figures of a table.
	 *
	 * @param size the number of existing keys
	 * @param pages the pages before the first window
	 * @param first the windows that begin with a checkpoint
	 * @param later the windows without full-page images
	 */
	record Row(int size, Pages pages, List<Figures> first, List<Figures> later) {

	}

}
