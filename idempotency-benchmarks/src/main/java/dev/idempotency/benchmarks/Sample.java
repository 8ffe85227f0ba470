/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * The values of one figure in all rounds.
 *
 * @param sorted the values in ascending order
 */
record Sample(double[] sorted) {

	static Sample of(List<Double> values) {
		double[] sorted = values.stream().mapToDouble(Double::doubleValue).toArray();
		Arrays.sort(sorted);
		return new Sample(sorted);
	}

	double median() {
		int middle = this.sorted.length / 2;
		return (this.sorted.length % 2 == 1) ? this.sorted[middle]
				: (this.sorted[middle - 1] + this.sorted[middle]) / 2;
	}

	/**
	 * Format the median, and the range if there are several values.
	 */
	String format(String format) {
		String median = String.format(Locale.ROOT, format, median());
		return (this.sorted.length == 1) ? median : median + String.format(Locale.ROOT,
				" (" + format + "–" + format + ")", this.sorted[0], this.sorted[this.sorted.length - 1]);
	}

}
