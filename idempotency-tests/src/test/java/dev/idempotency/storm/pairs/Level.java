/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm.pairs;

/**
 * A level of a factor.
 *
 * @param factor the factor
 * @param name the name of the level
 */
record Level(Factor factor, String name) implements Comparable<Level> {

	@Override
	public int compareTo(Level other) {
		int order = this.factor.compareTo(other.factor);
		return (order != 0) ? order
				: this.factor.levels().indexOf(this.name) - this.factor.levels().indexOf(other.name);
	}

	@Override
	public String toString() {
		return this.factor.title() + " = " + this.name;
	}

}
