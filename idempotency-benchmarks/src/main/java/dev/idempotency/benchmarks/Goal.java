/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

/**
 * The goal for a figure.
 *
 * @param floor the value below which the reason must be found
 * @param aim the desired value
 * @param upwards whether a higher figure is better
 */
record Goal(double floor, double aim, boolean upwards) {

	/**
	 * The 99th percentile of the latency, as a multiple of that of the limit.
	 */
	static final Goal P99 = new Goal(1.5, 1.2, false);

	/**
	 * The time of a delivery in the process, in microseconds.
	 */
	static final Goal TIME = new Goal(2, 1, false);

	/**
	 * The memory that a delivery allocates, in bytes.
	 */
	static final Goal MEMORY = new Goal(1536, 1024, false);

	static Goal ratio(double floor, double aim) {
		return new Goal(floor, aim, true);
	}

	String verdict(double value) {
		if (reaches(value, this.aim)) {
			return "aim met";
		}
		return reaches(value, this.floor) ? "floor met" : "**missed**";
	}

	private boolean reaches(double value, double mark) {
		return this.upwards ? value >= mark : value <= mark;
	}

}
