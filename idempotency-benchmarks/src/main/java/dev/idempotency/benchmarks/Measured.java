/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * The rounds of one comparison.
 *
 * @param work the work
 * @param threads the number of consumer threads
 * @param counted the round in which round trips were counted, which was not timed
 * @param rounds the timed rounds
 */
record Measured(Work work, int threads, Round counted, List<Round> rounds) {

	double median(ToDoubleFunction<Round> figure) {
		double[] sorted = sorted(figure);
		int middle = sorted.length / 2;
		return (sorted.length % 2 == 1) ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
	}

	double least(ToDoubleFunction<Round> figure) {
		return sorted(figure)[0];
	}

	double most(ToDoubleFunction<Round> figure) {
		return sorted(figure)[this.rounds.size() - 1];
	}

	double ratio() {
		return median(Round::ratio);
	}

	double p99Ratio() {
		return median((round) -> round.guarded().p99() / round.limit().p99());
	}

	private double[] sorted(ToDoubleFunction<Round> figure) {
		return this.rounds.stream().mapToDouble(figure).sorted().toArray();
	}

}
