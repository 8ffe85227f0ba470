/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.memory;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BooleanSupplier;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore;

/**
 * Stores that answer from an old snapshot, as a replica or an eventually consistent read
 * does.
 */
final class SnapshotDefects {

	private SnapshotDefects() {
	}

	private static boolean always() {
		return true;
	}

	private static boolean atTimes() {
		return ThreadLocalRandom.current().nextInt(50) == 0;
	}

	static IdempotencyStore claimsCompletedKeys() {
		return answersForCompletedKeys(SnapshotDefects::always, new Claim.Acquired(1, 1));
	}

	static IdempotencyStore claimsCompletedKeysAtTimes() {
		return answersForCompletedKeys(SnapshotDefects::atTimes, new Claim.Acquired(1, 1));
	}

	static IdempotencyStore keepsCompletedKeysInProgress() {
		return answersForCompletedKeys(SnapshotDefects::always, new Claim.InProgress(Duration.ofSeconds(1)));
	}

	static IdempotencyStore keepsCompletedKeysInProgressAtTimes() {
		return answersForCompletedKeys(SnapshotDefects::atTimes, new Claim.InProgress(Duration.ofSeconds(1)));
	}

	// The snapshot is older than the completion.
	private static IdempotencyStore answersForCompletedKeys(BooleanSupplier old, Claim answer) {
		return new DelegatingStore() {

			@Override
			Claim claim(ClaimRequest request) {
				Claim claim = super.claim(request);
				return (claim instanceof Claim.Completed && old.getAsBoolean()) ? answer : claim;
			}

		};
	}

	static IdempotencyStore looksKeysUp() {
		return new DelegatingStore() {

			private final Map<IdempotencyKey, Claim> snapshot = new ConcurrentHashMap<>();

			@Override
			Claim claim(ClaimRequest request) {
				this.snapshot.computeIfAbsent(request.key(), (key) -> super.lookUp(request));
				return super.claim(request);
			}

			@Override
			public Claim lookUp(ClaimRequest request) {
				Claim old = this.snapshot.get(request.key());
				return (old != null) ? old : super.lookUp(request);
			}

		};
	}

	static IdempotencyStore findsRecords() {
		return new DelegatingStore() {

			private final Map<IdempotencyKey, IdempotencyRecord> snapshot = new ConcurrentHashMap<>();

			@Override
			Claim claim(ClaimRequest request) {
				Claim claim = super.claim(request);
				super.find(request.key()).ifPresent((record) -> this.snapshot.put(request.key(), record));
				return claim;
			}

			@Override
			Optional<IdempotencyRecord> find(IdempotencyKey key) {
				return Optional.ofNullable(this.snapshot.get(key)).or(() -> super.find(key));
			}

		};
	}

}
