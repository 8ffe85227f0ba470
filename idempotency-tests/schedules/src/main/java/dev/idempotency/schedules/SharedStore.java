/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.time.Instant;
import java.util.List;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.memory.InMemoryIdempotencyStore;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore;

/**
 * The store that all processes of a schedule share.
 */
final class SharedStore {

	private final IdempotencyStore store = new InMemoryIdempotencyStore(this::now);

	private Instant now = Instant.EPOCH;

	IdempotencyStore store() {
		return this.store;
	}

	Instant now() {
		return this.now;
	}

	void setNow(Instant now) {
		this.now = now;
	}

	IdempotencyRecord find(IdempotencyKey key) {
		return UnreliableStore.withoutScheduling(() -> this.store.find(List.of(key)).get(key));
	}

}
