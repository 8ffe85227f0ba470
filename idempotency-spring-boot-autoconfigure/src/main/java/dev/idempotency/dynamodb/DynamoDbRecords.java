/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.dynamodb;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.function.BiPredicate;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.dynamodb.DynamoDbCalls.Update;
import dev.idempotency.dynamodb.Observations.Observation;
import dev.idempotency.store.Deadline;
import dev.idempotency.store.FilteredRecords;
import dev.idempotency.store.IdempotencyRecord;

/**
 * Shows and changes the records of DynamoDB by hand. Lists show the end of a claim by the
 * clock of its owner. A change without force needs more: this process must have seen the
 * claim unchanged for a whole lease, as for a take-over. The first attempt to change a
 * claim begins the observation.
 *
 * @param calls the requests to the table
 * @param updates the updates of items
 * @param observations the claims that this process has seen
 */
record DynamoDbRecords(DynamoDbCalls calls, RecordUpdates updates,
		Observations observations) implements FilteredRecords {

	// The scan ends behind the last record of a full page, so that a record is read once.
	@Override
	public Page list(BiPredicate<IdempotencyRecord, Instant> condition, int limit, @Nullable String after) {
		Instant now = this.updates.now();
		List<IdempotencyRecord> found = new ArrayList<>();
		String end = new RecordScan(this.calls).scan(after, (record) -> {
			if (condition.test(record, now)) {
				found.add(record);
			}
			return found.size() < limit;
		});
		return new Page(found, end == null, end);
	}

	@Override
	public Optional<byte[]> result(IdempotencyKey key) {
		return Optional.ofNullable(this.calls.get(key, this.calls.deadline()))
			.flatMap((item) -> Optional.ofNullable(item.result()));
	}

	@Override
	public Change release(IdempotencyKey key, boolean force) {
		return change(key,
				(expired) -> this.calls.update(this.updates.free(key, force, expired), this.calls.deadline()));
	}

	@Override
	public Change evict(IdempotencyKey key, boolean force) {
		return evict(key, force, this.calls.deadline());
	}

	private Change evict(IdempotencyKey key, boolean force, Deadline deadline) {
		return change(key, (expired) -> this.calls.delete(this.updates.delete(key, force, expired), deadline));
	}

	@Override
	public int evictAll(Collection<IdempotencyKey> keys, boolean force) {
		return (int) this.calls.all(List.copyOf(keys), (key, deadline) -> evict(key, force, deadline))
			.stream()
			.filter((change) -> change == Change.DONE)
			.count();
	}

	private Change change(IdempotencyKey key, Function<@Nullable Observation, Update> change) {
		Update update = change.apply(this.observations.findExpired(key.id(), System.nanoTime()));
		if (update.applied()) {
			this.observations.end(key.id());
			return Change.DONE;
		}
		RecordItem item = update.item();
		if (item == null) {
			return Change.ABSENT;
		}
		if (item.isCompleted()) {
			return Change.COMPLETED;
		}
		if (item.isInProgress()) {
			this.observations.observe(key.id(), item, System.nanoTime());
		}
		return Change.ALIVE;
	}

}
