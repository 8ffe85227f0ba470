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

import dev.idempotency.store.IdempotencyStore;

/**
 * The obligations of every {@link IdempotencyStore}. Two of them are not tested, because
 * the tests would need more than a store: that calls end in time, and the exception when
 * the store is unavailable. The exception of a refused call is tested with the store of
 * {@link #refused()}.
 *
 * @since 0.1.0
 */
@Execution(ExecutionMode.CONCURRENT)
public abstract class IdempotencyStoreContract implements BatchClaimContract, BatchSettlementContract,
		ClaimAheadContract, ClaimContract, ClockContract, CompetitionContract, FencingContract, FindContract,
		FingerprintContract, KeyContract, LookUpContract, RefusalContract, RenewalContract, RepetitionContract,
		RestoreContract, RetentionContract, SequenceContract, SettlementContract, VersionContract {

	/**
	 * Return the store under test.
	 * @return the same store each time
	 */
	@Override
	public abstract IdempotencyStore store();

	/**
	 * Return the time for which threads compete for keys, a second by default.
	 * @return the time
	 */
	@Override
	public Duration competition() {
		return Duration.ofSeconds(1);
	}

}
