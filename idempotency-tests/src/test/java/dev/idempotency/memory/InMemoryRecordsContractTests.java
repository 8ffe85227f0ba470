/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.memory;

import dev.idempotency.contract.IdempotencyRecordsContract;

/**
 * Contract tests for the records of {@link InMemoryIdempotencyStore}.
 */
class InMemoryRecordsContractTests extends IdempotencyRecordsContract {

	private static final InMemoryIdempotencyStore store = new InMemoryIdempotencyStore();

	@Override
	public InMemoryIdempotencyStore store() {
		return store;
	}

}
