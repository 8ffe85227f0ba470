/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.soak;

import java.util.ArrayList;
import java.util.List;

/**
 * The samples of one figure.
 */
final class Series {

	private final List<double[]> samples = new ArrayList<>();

	void add(double hours, double value) {
		this.samples.add(new double[] { hours, value });
	}

	// The first quarter of the time is not counted: classes are loaded, and tables and
	// pools grow to their sizes.
	private List<double[]> steady() {
		return this.samples.subList(this.samples.size() / 4, this.samples.size());
	}

	double first() {
		return steady().get(0)[1];
	}

	double last() {
		return this.samples.get(this.samples.size() - 1)[1];
	}

	double mean() {
		return steady().stream().mapToDouble((sample) -> sample[1]).average().orElse(0);
	}

	// The growth in an hour: least squares.
	double slope() {
		List<double[]> steady = steady();
		double x = steady.stream().mapToDouble((sample) -> sample[0]).average().orElse(0);
		double y = mean();
		double products = steady.stream().mapToDouble((sample) -> (sample[0] - x) * (sample[1] - y)).sum();
		double squares = steady.stream().mapToDouble((sample) -> (sample[0] - x) * (sample[0] - x)).sum();
		return (squares > 0) ? products / squares : 0;
	}

}
