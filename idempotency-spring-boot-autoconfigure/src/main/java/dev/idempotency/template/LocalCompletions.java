/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;

/**
 * A cache of completed keys that does not accept a key for a while after its removal: a
 * duplicate that read the record before the removal must not add it again.
 */
final class LocalCompletions {

	// Longer than a call of the store.
	private static final Duration MEMORY = Duration.ofMinutes(1);

	private final CompletionCache cache;

	private final Map<IdempotencyKey, Long> removed = new ConcurrentHashMap<>();

	LocalCompletions(CompletionCache cache) {
		this.cache = cache;
	}

	Claim.@Nullable Completed find(IdempotentOperation operation) {
		// A higher version may have completed since.
		return (operation.version() != null) ? null : this.cache.find(operation.key(), operation.fingerprint());
	}

	void add(IdempotentOperation operation, byte @Nullable [] result) {
		if (operation.version() != null || this.cache == CompletionCache.NONE) {
			return;
		}
		// A removal of the key on another thread waits for this, and then removes it.
		this.removed.compute(operation.key(), (key, since) -> {
			if (since == null) {
				this.cache.add(key, operation.fingerprint(), result, operation.retention());
			}
			return since;
		});
	}

	// Whether a record that was read within the last seconds may be outdated.
	boolean isRemoved(IdempotencyKey key) {
		return this.removed.containsKey(key);
	}

	// Remove keys before their records change: a duplicate that adds one from now on
	// may have read the record in its earlier state.
	void removeAll(Collection<IdempotencyKey> keys) {
		long now = System.nanoTime();
		this.removed.values().removeIf((since) -> now - since > MEMORY.toNanos());
		for (IdempotencyKey key : keys) {
			this.removed.compute(key, (removed, since) -> {
				this.cache.remove(removed);
				return now;
			});
		}
	}

}
