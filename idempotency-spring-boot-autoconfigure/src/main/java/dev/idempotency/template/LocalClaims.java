/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;

/**
 * The claims whose leases this process renews.
 */
final class LocalClaims {

	private static final int REMOVED = 256;

	private static final Duration LONGEST_WAIT = Duration.ofSeconds(10);

	private final Map<IdempotencyKey, OwnedClaim> latest = new ConcurrentHashMap<>();

	// Those whose keys have a later claim. As a rule there is none.
	private final Set<OwnedClaim> earlier = ConcurrentHashMap.newKeySet();

	// Some of the keys whose claims were removed last, by their hash codes.
	private final AtomicReferenceArray<@Nullable IdempotencyKey> removed = new AtomicReferenceArray<>(REMOVED);

	private final Map<IdempotencyKey, CompletableFuture<@Nullable Void>> awaited = new ConcurrentHashMap<>();

	// Returns the previous claim of the key, which stays until it is removed.
	@Nullable OwnedClaim put(OwnedClaim claim) {
		IdempotencyKey key = claim.request().key();
		if (this.latest.putIfAbsent(key, claim) == null) {
			return null;
		}
		AtomicReference<@Nullable OwnedClaim> previous = new AtomicReference<>();
		this.latest.merge(key, claim, (other, added) -> {
			this.earlier.add(other);
			previous.set(other);
			return added;
		});
		return previous.get();
	}

	// A claim that becomes an earlier one meanwhile is found in both.
	Stream<OwnedClaim> all() {
		return Stream.concat(this.latest.values().stream(), this.earlier.stream()).distinct();
	}

	// Returns whether the claim was there.
	boolean remove(OwnedClaim claim) {
		IdempotencyKey key = claim.request().key();
		boolean last = this.latest.remove(key, claim);
		if (last) {
			this.removed.set(slot(key), key);
			CompletableFuture<@Nullable Void> released = this.awaited.get(key);
			if (released != null) {
				released.complete(null);
			}
		}
		return last || this.earlier.remove(claim);
	}

	private static int slot(IdempotencyKey key) {
		return Math.floorMod(key.hashCode(), REMOVED);
	}

	// Returns a stage that completes when the claim of this process that has blocked
	// another one has been removed, or when the time is over, because another process has
	// the key. The store has answered both claims, but this process may not have added
	// its own yet, or may have removed it already.
	CompletionStage<?> released(IdempotencyKey key) {
		CompletableFuture<@Nullable Void> released = this.awaited.computeIfAbsent(key, (any) -> {
			CompletableFuture<@Nullable Void> added = new CompletableFuture<>();
			added.completeOnTimeout(null, LONGEST_WAIT.toSeconds(), TimeUnit.SECONDS)
				.thenRun(() -> this.awaited.remove(key, added));
			return added;
		});
		if (!this.latest.containsKey(key) && takeRemoved(key)) {
			released.complete(null);
		}
		return released;
	}

	// A removal ends one wait at most: the record would be redelivered in a loop if
	// another process claimed the key after that.
	private boolean takeRemoved(IdempotencyKey key) {
		IdempotencyKey last = this.removed.get(slot(key));
		return key.equals(last) && this.removed.compareAndSet(slot(key), last, null);
	}

}
