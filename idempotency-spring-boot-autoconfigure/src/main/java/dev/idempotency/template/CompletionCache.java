/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Internal;
import dev.idempotency.store.Claim;

/**
 * A bounded cache of completed keys in the memory of this process, so that a repeated
 * duplicate costs no round trip. A key that is not in the cache is claimed in the store.
 * The template adds only completions that the store has confirmed and whose transaction
 * has committed.
 *
 * @since 0.1.0
 */
@Internal
public interface CompletionCache {

	/**
	 * A cache that never contains a key.
	 */
	CompletionCache NONE = new CompletionCache() {
	};

	/**
	 * Look up a completed key. By default the cache contains none.
	 * @param key the key
	 * @param fingerprint the fingerprint of the record in question
	 * @return the completion, {@code null} if the cache does not contain the key with
	 * exactly this fingerprint
	 */
	default Claim.@Nullable Completed find(IdempotencyKey key, byte @Nullable [] fingerprint) {
		return null;
	}

	/**
	 * Add a completed key.
	 * @param key the key
	 * @param fingerprint the fingerprint of the content that the key stands for
	 * @param result the stored result
	 * @param retention the longest time for which the entry may be kept
	 */
	default void add(IdempotencyKey key, byte @Nullable [] fingerprint, byte @Nullable [] result, Duration retention) {
	}

	/**
	 * Remove a key.
	 * @param key the key
	 */
	default void remove(IdempotencyKey key) {
	}

}
