/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiPredicate;

import org.jspecify.annotations.Nullable;

import dev.idempotency.Internal;

/**
 * {@link IdempotencyRecords} of a store that has no query language. It reads its records
 * and keeps those that satisfy a condition.
 *
 * @since 0.1.0
 */
@Internal
public interface FilteredRecords extends IdempotencyRecords {

	/**
	 * List the records that satisfy a condition.
	 * @param condition tests a record at the current time of the store
	 * @param limit the largest number of records
	 * @param after the end of the previous page, {@code null} for the first page
	 * @return the page
	 */
	Page list(BiPredicate<IdempotencyRecord, Instant> condition, int limit, @Nullable String after);

	/**
	 * Estimate the number of records, for an overview that is not complete.
	 * @return the number, {@code null} if the store does not know it
	 */
	default @Nullable Long estimate() {
		return null;
	}

	// The condition counts each record and keeps none.
	@Override
	default Overview overview() {
		Map<String, ScopeCount> scopes = new TreeMap<>();
		boolean complete = list((record, now) -> {
			scopes.merge(record.key().scope(), ScopeCount.of(record, now), ScopeCount::plus);
			return false;
		}, 1, null).complete();
		return new Overview(List.copyOf(scopes.values()), complete, complete ? null : estimate());
	}

	@Override
	default Page stuck(int limit, @Nullable String after) {
		return list(IdempotencyRecord::isStuck, limit, after);
	}

	@Override
	default Page failed(int limit, @Nullable String after) {
		return list((record, now) -> record.failure() != null, limit, after);
	}

	@Override
	default Page evictable(Selection selection, boolean force, int limit, @Nullable String after) {
		return list(
				(record, now) -> selection.matches(record.key(), record.createdAt()) && (force || !record.isLive(now)),
				limit, after);
	}

}
