/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.memory;

import java.time.Duration;

import dev.idempotency.contract.IdempotencyStoreContract;

/**
 * Contract tests for {@link InMemoryIdempotencyStore}.
 */
class InMemoryStoreContractTests extends IdempotencyStoreContract {

	private static final InMemoryIdempotencyStore store = new InMemoryIdempotencyStore();

	@Override
	public InMemoryIdempotencyStore store() {
		return store;
	}

	@Override
	public Duration lease() {
		return Duration.ofMillis(50);
	}

	@Override
	public Duration retention() {
		return Duration.ofMillis(200);
	}

}
