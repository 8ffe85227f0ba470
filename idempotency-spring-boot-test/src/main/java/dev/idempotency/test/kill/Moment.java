/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

import java.util.Random;

/**
 * The moment of an interruption: when a random part of the pending work of the round is
 * done, either while operations are still being sent or after that. A moment at which the
 * work does not progress, because the processes start or wait for partitions, would show
 * little.
 */
final class Moment {

	private static final double LEAST_LEFT = 0.4;

	private static final double MOST_LEFT = 0.95;

	private final boolean whileSending;

	private final double left;

	private long peak;

	private Moment(boolean whileSending, double left) {
		this.whileSending = whileSending;
		this.left = left;
	}

	static Moment random(Random random) {
		return new Moment(random.nextBoolean(), random.nextDouble(LEAST_LEFT, MOST_LEFT));
	}

	boolean hasCome(boolean sent, long pending) {
		this.peak = Math.max(this.peak, pending);
		return (sent || this.whileSending) && pending > 0 && pending <= this.peak * this.left;
	}

}
