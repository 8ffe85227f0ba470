/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.memory;

import java.time.Instant;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiPredicate;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.FilteredRecords;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.PagePosition;
import dev.idempotency.store.StoredRecord;
import dev.idempotency.store.Transition;

/**
 * Shows and changes the entries of the store by hand. Lists begin with the entries that
 * expire last.
 *
 * @param entries the entries of the store
 * @param clock the clock of the store
 */
record InMemoryRecords(Map<IdempotencyKey, StoredRecord> entries, InstantSource clock) implements FilteredRecords {

	@Override
	public Long estimate() {
		return (long) this.entries.size();
	}

	@Override
	public Page list(BiPredicate<IdempotencyRecord, Instant> condition, int limit, @Nullable String after) {
		Instant now = this.clock.instant();
		PagePosition start = (after != null) ? PagePosition.parse(after) : null;
		List<IdempotencyRecord> rest = all().stream()
			.filter((record) -> start == null || PagePosition.of(record).compareTo(start) < 0)
			.toList();
		List<IdempotencyRecord> window = rest.subList(0, Math.min(rest.size(), WINDOW));
		List<IdempotencyRecord> found = window.stream()
			.filter((record) -> condition.test(record, now))
			.limit(limit + 1L)
			.toList();
		IdempotencyRecord last = (found.size() > limit) ? found.get(limit - 1)
				: (window.size() < rest.size()) ? window.get(window.size() - 1) : null;
		return new Page(found.stream().limit(limit).toList(), last == null,
				(last != null) ? PagePosition.of(last).toString() : null);
	}

	private List<IdempotencyRecord> all() {
		return this.entries.entrySet()
			.stream()
			.map((entry) -> entry.getValue().toRecord(entry.getKey()))
			.sorted(Comparator.comparing(PagePosition::of).reversed())
			.toList();
	}

	@Override
	public Optional<byte[]> result(IdempotencyKey key) {
		return Optional.ofNullable(this.entries.get(key))
			.flatMap((stored) -> Optional.ofNullable(stored.result()))
			.map(byte[]::clone);
	}

	@Override
	public Change release(IdempotencyKey key, boolean force) {
		return change(key, force, Transition::release);
	}

	@Override
	public Change evict(IdempotencyKey key, boolean force) {
		return change(key, force, (entry) -> null);
	}

	// A step that returns the same entry has nothing to change, because the operation
	// has completed.
	private Change change(IdempotencyKey key, boolean force, Function<StoredRecord, @Nullable StoredRecord> step) {
		AtomicReference<Change> change = new AtomicReference<>(Change.ABSENT);
		this.entries.computeIfPresent(key, (same, entry) -> {
			if (!force && entry.isLive(this.clock.instant())) {
				change.set(Change.ALIVE);
				return entry;
			}
			StoredRecord next = step.apply(entry);
			change.set((next != entry) ? Change.DONE : Change.COMPLETED);
			return next;
		});
		return Objects.requireNonNull(change.get());
	}

}
