/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

import org.springframework.boot.convert.DurationStyle;

/**
 * The options of the command line.
 *
 * @param quick whether this is a smoke run
 * @param rounds the number of measured rounds of each row
 * @param latency the time by which replies of the stores are delayed
 * @param only the texts of which the name of a row must contain one, in any case; empty
 * for all rows
 */
record Options(boolean quick, int rounds, Duration latency, List<String> only) {

	static Options parse(String[] arguments) {
		boolean quick = false;
		int rounds = 5;
		Duration latency = Duration.ZERO;
		List<String> only = new ArrayList<>();
		for (String argument : arguments) {
			if (argument.equals("--quick")) {
				quick = true;
				rounds = 1;
			}
			else if (argument.startsWith("--rounds=")) {
				rounds = Integer.parseInt(argument.substring("--rounds=".length()));
			}
			else if (argument.startsWith("--latency=")) {
				latency = DurationStyle.detectAndParse(argument.substring("--latency=".length()));
			}
			else if (argument.startsWith("--only=")) {
				only.add(argument.substring("--only=".length()));
			}
			else {
				throw new IllegalArgumentException("Unknown option '" + argument
						+ "'. Use --quick, --rounds=NUMBER, --latency=500us or --only=TEXT");
			}
		}
		return new Options(quick, rounds, latency, only);
	}

	boolean inProcess() {
		return isComplete() || this.only.stream().anyMatch("in-process"::contains);
	}

	List<Work> select(List<Work> works) {
		return works.stream()
			.filter((work) -> this.only.isEmpty() || isSelected(work))
			// The rows without a goal are many.
			.filter((work) -> isComplete() || !this.only.isEmpty() || work.goal() != null)
			.toList();
	}

	private boolean isSelected(Work work) {
		String name = work.toString().toLowerCase(Locale.ROOT);
		return this.only.stream().anyMatch((text) -> name.contains(text.toLowerCase(Locale.ROOT)));
	}

	List<Integer> threads() {
		return this.quick ? List.of(1) : List.of(1, 4);
	}

	// For the slower listener.
	double phaseSeconds() {
		return this.quick ? 0.2 : 1;
	}

	// For the faster listener.
	double warmUpSeconds() {
		return this.quick ? 0.1 : 4;
	}

	// A partial or short run must not replace the figures of a complete one.
	Path directory() {
		return Path.of(isComplete() ? "docs" : "idempotency-benchmarks/target");
	}

	private boolean isComplete() {
		return !this.quick && this.latency.isZero() && this.only.isEmpty();
	}

}
