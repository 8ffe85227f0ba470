/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.memory;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.ExpiredRecords;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.store.StoredRecord;
import dev.idempotency.store.Transition;

/**
 * A store in the memory of this process, for tests. It executes each {@link Transition}
 * as it is defined. Its records are lost when the process ends, and other instances do
 * not see them.
 *
 * @since 0.1.0
 */
public final class InMemoryIdempotencyStore implements IdempotencyStore, ExpiredRecords {

	private final Map<IdempotencyKey, StoredRecord> entries = new ConcurrentHashMap<>();

	private final InstantSource clock;

	private final InMemoryRecords records;

	/**
	 * Create an empty store that uses the system clock.
	 */
	public InMemoryIdempotencyStore() {
		this(Clock.systemUTC());
	}

	/**
	 * Create an empty store.
	 * @param clock the clock of the store, which must not go back
	 */
	public InMemoryIdempotencyStore(InstantSource clock) {
		this.clock = clock;
		this.records = new InMemoryRecords(this.entries, clock);
	}

	@Override
	public String name() {
		return "in-memory";
	}

	@Override
	public String table() {
		return "memory";
	}

	@Override
	public List<Claim> claim(List<ClaimRequest> requests) {
		return requests.stream()
			.map((request) -> copyOf(atomically(request, (record, now) -> Transition.claim(record, request, now))))
			.toList();
	}

	@Override
	public Claim lookUp(ClaimRequest request) {
		return copyOf(Transition.claim(this.entries.get(request.key()), request, this.clock.instant()).answer());
	}

	private static Claim copyOf(Claim claim) {
		return (claim instanceof Claim.Completed completed) ? new Claim.Completed(copy(completed.result())) : claim;
	}

	@Override
	public List<Settlement> settle(List<Ending> endings) {
		return endings.stream()
			.map((ending) -> atomically(ending.claim(), (record, now) -> Transition.settle(record, ending, now)))
			.toList();
	}

	// Without a round trip it costs nothing, and tests of applications see it happen.
	@Override
	public boolean supportsClaimAhead() {
		return true;
	}

	@Override
	public List<Settlement> renew(List<ClaimRequest> claims) {
		return claims.stream()
			.map((claim) -> atomically(claim, (record, now) -> Transition.renew(record, claim, now)))
			.toList();
	}

	@Override
	public Settlement restore(ClaimRequest claim, Claim.Acquired acquired) {
		return atomically(claim, (record, now) -> Transition.restore(record, claim, acquired, now));
	}

	@Override
	public Map<IdempotencyKey, IdempotencyRecord> find(Collection<IdempotencyKey> keys) {
		Map<IdempotencyKey, IdempotencyRecord> records = new HashMap<>();
		for (IdempotencyKey key : keys) {
			StoredRecord entry = this.entries.get(key);
			if (entry != null) {
				records.put(key, entry.toRecord(key));
			}
		}
		return records;
	}

	@Override
	public Optional<IdempotencyRecords> records() {
		return Optional.of(this.records);
	}

	@Override
	public void ping() {
	}

	// No other process shares the entries, so there is no reason for a pause.
	@Override
	public int deleteExpired(int limit, Duration pause) {
		int deleted = 0;
		for (Map.Entry<IdempotencyKey, StoredRecord> entry : this.entries.entrySet()) {
			if (deleted < limit && entry.getValue().isExpired(this.clock.instant())
					&& this.entries.remove(entry.getKey(), entry.getValue())) {
				deleted++;
			}
		}
		return deleted;
	}

	@Override
	public Duration backlogAge() {
		Instant now = this.clock.instant();
		return this.entries.values()
			.stream()
			.filter((entry) -> entry.isExpired(now))
			.map((entry) -> Duration.between(entry.expiresAt(), now))
			.max(Comparator.naturalOrder())
			.orElse(Duration.ZERO);
	}

	// The clock is read while the entry is locked. Otherwise a later change of an entry
	// could have an earlier time.
	private <T> T atomically(ClaimRequest request,
			BiFunction<@Nullable StoredRecord, Instant, Transition<T>> transition) {
		AtomicReference<T> answer = new AtomicReference<>();
		this.entries.compute(request.key(), (key, record) -> {
			Transition<T> step = transition.apply(record, this.clock.instant());
			answer.set(step.answer());
			return step.next();
		});
		return Objects.requireNonNull(answer.get());
	}

	private static byte @Nullable [] copy(byte @Nullable [] bytes) {
		return (bytes != null) ? bytes.clone() : null;
	}

}
