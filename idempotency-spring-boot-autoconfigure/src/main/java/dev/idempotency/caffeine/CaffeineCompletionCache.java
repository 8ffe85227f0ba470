/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.caffeine;

import java.time.Duration;
import java.util.Arrays;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Expiry;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.template.CompletionCache;

/**
 * A {@link CompletionCache} that limits the approximate memory and the age of its
 * entries.
 *
 * @since 0.1.0
 */
public final class CaffeineCompletionCache implements CompletionCache {

	// A cache entry, a key, its id and four array headers: measured 300 to 400 bytes.
	private static final int ENTRY_BYTES = 400;

	private final Cache<IdempotencyKey, Entry> entries;

	private final Duration timeToLive;

	/**
	 * Create a cache.
	 * @param maximumBytes approximate maximum memory of the entries
	 * @param timeToLive maximum age of an entry
	 */
	public CaffeineCompletionCache(long maximumBytes, Duration timeToLive) {
		this.timeToLive = timeToLive;
		this.entries = Caffeine.newBuilder()
			.maximumWeight(maximumBytes)
			.weigher(CaffeineCompletionCache::bytes)
			.expireAfter(Expiry.<IdempotencyKey, Entry>creating((key, entry) -> entry.timeToLive()))
			.build();
	}

	private static int bytes(IdempotencyKey key, Entry entry) {
		return ENTRY_BYTES + key.scope().length() + key.value().length() + length(entry.fingerprint())
				+ length(entry.completed().result());
	}

	private static int length(byte @Nullable [] bytes) {
		return (bytes != null) ? bytes.length : 0;
	}

	@Override
	public Claim.@Nullable Completed find(IdempotencyKey key, byte @Nullable [] fingerprint) {
		Entry entry = this.entries.getIfPresent(key);
		return (entry != null && Arrays.equals(entry.fingerprint(), fingerprint)) ? entry.completed() : null;
	}

	@Override
	public void add(IdempotencyKey key, byte @Nullable [] fingerprint, byte @Nullable [] result, Duration retention) {
		Duration shorter = (retention.compareTo(this.timeToLive) < 0) ? retention : this.timeToLive;
		this.entries.put(key, new Entry(fingerprint, new Claim.Completed(result), shorter));
	}

	@Override
	public void remove(IdempotencyKey key) {
		this.entries.invalidate(key);
	}

	private record Entry(byte @Nullable [] fingerprint, Claim.Completed completed, Duration timeToLive) {

	}

}
