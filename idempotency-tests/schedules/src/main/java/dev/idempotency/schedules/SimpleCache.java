/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.template.CompletionCache;

/**
 * A cache of completed keys. Another thread may run before and after each of its methods.
 */
final class SimpleCache implements CompletionCache {

	private final Map<IdempotencyKey, Claim.Completed> entries = new HashMap<>();

	@Override
	public Claim.Completed find(IdempotencyKey key, byte[] fingerprint) {
		Thread.yield();
		Claim.Completed found = this.entries.get(key);
		Thread.yield();
		return found;
	}

	@Override
	public void add(IdempotencyKey key, byte[] fingerprint, byte[] result, Duration retention) {
		Thread.yield();
		this.entries.put(key, new Claim.Completed(result));
		Thread.yield();
	}

	@Override
	public void remove(IdempotencyKey key) {
		Thread.yield();
		this.entries.remove(key);
		Thread.yield();
	}

}
