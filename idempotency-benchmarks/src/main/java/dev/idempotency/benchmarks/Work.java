/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.util.List;

import org.jspecify.annotations.Nullable;

/**
 * Work that a protected listener and its limit do.
 *
 * @param kind the store and the two listeners
 * @param duplicates the percentage of records that are duplicates
 * @param goal the goal for the ratio of the rates, {@code null} if there is none
 */
record Work(Kind kind, int duplicates, @Nullable Goal goal) {

	static List<Work> all() {
		return List.of(new Work(Kind.TRANSACTIONAL, 0, Goal.ratio(0.78, 0.86)), new Work(Kind.TRANSACTIONAL, 1, null),
				new Work(Kind.TRANSACTIONAL, 50, null), new Work(Kind.TRANSACTIONAL_BY_HAND, 0, Goal.ratio(0.95, 1)),
				new Work(Kind.TRANSACTIONAL_EMPTY_STATEMENT, 0, Goal.ratio(0.95, 1)),
				new Work(Kind.TRANSACTIONAL_MARIADB, 0, null),
				new Work(Kind.TRANSACTIONAL_MARIADB_BY_HAND, 0, Goal.ratio(0.85, 1)),
				new Work(Kind.LEASED, 0, Goal.ratio(1, 1.3)), new Work(Kind.LEASED_MARIADB, 0, Goal.ratio(0.95, 1.2)),
				new Work(Kind.LEASED, 1, null), new Work(Kind.LEASED, 50, null),
				new Work(Kind.LEASED, 100, Goal.ratio(0.5, 0.7)), new Work(Kind.LEASED_MARIADB, 100, null),
				new Work(Kind.DYNAMODB, 0, null), new Work(Kind.DYNAMODB, 100, null),
				new Work(Kind.REDIS, 0, Goal.ratio(1, 1.3)), new Work(Kind.REDIS, 1, null),
				new Work(Kind.REDIS, 50, null), new Work(Kind.REDIS, 100, Goal.ratio(0.7, 0.85)),
				new Work(Kind.CACHED, 100, Goal.ratio(0.85, 0.95)),
				new Work(Kind.TRANSACTIONAL_BATCH, 0, Goal.ratio(0.9, 0.97)),
				new Work(Kind.TRANSACTIONAL_SMALL_BATCH, 0, Goal.ratio(0.9, 0.97)),
				new Work(Kind.TRANSACTIONAL_BATCH_BY_HAND, 0, Goal.ratio(0.95, 1)),
				new Work(Kind.TRANSACTIONAL_SMALL_BATCH_BY_HAND, 0, Goal.ratio(0.95, 1)),
				new Work(Kind.TRANSACTIONAL_COMPARED, 0, Goal.ratio(0.98, 1)),
				new Work(Kind.LEASED_COMPARED, 0, Goal.ratio(0.95, 1)),
				new Work(Kind.REDIS_COMPARED, 0, Goal.ratio(0.95, 1)),
				new Work(Kind.LEASED_BATCH, 20, Goal.ratio(5, 10)), new Work(Kind.REDIS_BATCH, 20, Goal.ratio(5, 9)));
	}

	String limit() {
		return switch (this.duplicates) {
			case 0 -> this.kind.limitOfNew();
			case 100 -> this.kind.limitOfDuplicate();
			default -> this.kind.limitOfNew().equals(this.kind.limitOfDuplicate()) ? this.kind.limitOfNew()
					: this.kind.limitOfNew() + " / " + this.kind.limitOfDuplicate();
		};
	}

	@Override
	public String toString() {
		return this.kind.title() + ", " + switch (this.duplicates) {
			case 0 -> "new keys";
			case 100 -> "duplicates";
			default -> this.duplicates + " % duplicates";
		};
	}

}
