/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.util.List;
import java.util.Locale;

/**
 * The tables of the report.
 */
final class Tables {

	private Tables() {
	}

	static String goals(List<Measured> rows) {
		StringBuilder table = new StringBuilder(
				"""
						| work | limit | threads | rate: ratio to the limit (range of the rounds) | floor, aim | | p99: ratio to the limit | floor, aim | |
						|---|---|---|---|---|---|---|---|---|
						""");
		for (Measured row : rows) {
			Goal goal = row.work().goal();
			if (goal != null) {
				add(table, "| %s | %s | %d | **%.2f** (%.2f–%.2f) | %.2f, %.2f | %s | %s |", row.work(),
						row.work().limit(), row.threads(), row.ratio(), row.least(Round::ratio), row.most(Round::ratio),
						goal.floor(), goal.aim(), goal.verdict(row.ratio()), p99(row));
			}
		}
		return table.toString();
	}

	// The limit of cached duplicates takes no time, so a ratio would be meaningless.
	private static String p99(Measured row) {
		return (row.work().kind() == Kind.CACHED) ? "the limit does nothing | |"
				: String.format(Locale.ROOT, "%.2f | %.1f, %.1f | %s", row.p99Ratio(), Goal.P99.floor(), Goal.P99.aim(),
						Goal.P99.verdict(row.p99Ratio()));
	}

	static String all(List<Measured> rows) {
		StringBuilder table = new StringBuilder(
				"""
						| work | threads | limit: records/s | p50, p99 µs | round trips | protected: records/s | p50, p99 µs | round trips | added p50, p99 µs | ratio (range) |
						|---|---|---|---|---|---|---|---|---|---|
						""");
		for (Measured row : rows) {
			add(table,
					"| %s | %d | %,.0f | %.0f, %.0f | %s | %,.0f | %.0f, %.0f | %s | %+.0f, %+.0f | %.2f (%.2f–%.2f) |",
					row.work(), row.threads(), row.median((round) -> round.limit().rate()),
					row.median((round) -> round.limit().p50()), row.median((round) -> round.limit().p99()),
					trips(row.counted().limit()), row.median((round) -> round.guarded().rate()),
					row.median((round) -> round.guarded().p50()), row.median((round) -> round.guarded().p99()),
					trips(row.counted().guarded()), row.median((round) -> round.guarded().p50() - round.limit().p50()),
					row.median((round) -> round.guarded().p99() - round.limit().p99()), row.ratio(),
					row.least(Round::ratio), row.most(Round::ratio));
		}
		return table.toString();
	}

	// A batch has few round trips per record, which need more digits.
	private static String trips(Phase phase) {
		return String.format(Locale.ROOT, (phase.roundTrips() < 0.1) ? "%.4f" : "%.2f", phase.roundTrips());
	}

	static String inProcess(List<Delivered> rows) {
		StringBuilder table = new StringBuilder(
				"""
						| delivery | µs | bytes allocated | added µs (goal: floor 2, aim 1) | | added bytes (goal: 1536, 1024) | |
						|---|---|---|---|---|---|---|
						""");
		Delivered without = rows.get(0);
		for (Delivered row : rows) {
			if (row == without) {
				add(table, "| %s | %.2f ± %.2f | %.0f | | | | |", row.delivery(), row.micros(), row.error(),
						row.bytes());
			}
			else {
				double micros = row.micros() - without.micros();
				double bytes = row.bytes() - without.bytes();
				add(table, "| %s | %.2f ± %.2f | %.0f | %.2f | %s | %.0f | %s |", row.delivery(), row.micros(),
						row.error(), row.bytes(), micros, Goal.TIME.verdict(micros), bytes, Goal.MEMORY.verdict(bytes));
			}
		}
		return table.toString();
	}

	private static void add(StringBuilder table, String format, Object... values) {
		table.append(String.format(Locale.ROOT, format, values)).append('\n');
	}

}
