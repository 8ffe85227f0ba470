/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.time.Instant;
import java.util.Optional;
import java.util.function.Supplier;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.IdempotencyRecords;

/**
 * The records of the store, whose changes by hand the {@link History} notes.
 */
final class ObservedRecords implements IdempotencyRecords {

	private final SharedStore shared;

	private final History history;

	ObservedRecords(SharedStore shared, History history) {
		this.shared = shared;
		this.history = history;
	}

	@Override
	public Overview overview() {
		return atomically(() -> records().overview());
	}

	@Override
	public Page stuck(int limit, String after) {
		return atomically(() -> records().stuck(limit, after));
	}

	@Override
	public Page failed(int limit, String after) {
		return atomically(() -> records().failed(limit, after));
	}

	@Override
	public Page evictable(Selection selection, boolean force, int limit, String after) {
		return atomically(() -> records().evictable(selection, force, limit, after));
	}

	@Override
	public Optional<byte[]> result(IdempotencyKey key) {
		return atomically(() -> records().result(key));
	}

	@Override
	public Change release(IdempotencyKey key, boolean force) {
		return atomically(() -> {
			Change change = records().release(key, force);
			if (change == Change.DONE) {
				this.history.excused(key);
			}
			return change;
		});
	}

	@Override
	public Change evict(IdempotencyKey key, boolean force) {
		return atomically(() -> {
			Change change = records().evict(key, force);
			if (change == Change.DONE) {
				this.history.forgotten(key);
			}
			return change;
		});
	}

	private IdempotencyRecords records() {
		return this.shared.store().records().orElseThrow();
	}

	private <T> T atomically(Supplier<T> action) {
		Thread.yield();
		this.shared.setNow(Instant.ofEpochMilli(System.currentTimeMillis()));
		T answer = UnreliableStore.withoutScheduling(action);
		Thread.yield();
		return answer;
	}

}
