/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.time.Duration;

import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyStore;

/**
 * The obligations of every {@link IdempotencyRecords}. Two of them are not tested,
 * because the tests would need more than a store: that calls end in time, and that the
 * result of a large store says which records are left out.
 *
 * @since 0.1.0
 */
@Execution(ExecutionMode.CONCURRENT)
public abstract class IdempotencyRecordsContract
		implements InterventionContract, BulkEvictionContract, ListContract, OverviewContract {

	/**
	 * Return the store under test, which must have a few hundred records at most.
	 * @return the same store each time
	 */
	@Override
	public abstract IdempotencyStore store();

	@Override
	public IdempotencyRecords records() {
		return store().records().orElseThrow();
	}

	@Override
	public Duration competition() {
		return Duration.ZERO;
	}

}
