/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.time.Duration;
import java.util.List;

import org.junit.jupiter.api.Test;

import dev.idempotency.store.IdempotencyRecords.Overview;
import dev.idempotency.store.IdempotencyRecords.ScopeCount;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The overview of all records.
 */
interface OverviewContract extends RecordsContract {

	private ScopeCount scope(String name) {
		return records().overview()
			.scopes()
			.stream()
			.filter((scope) -> scope.name().equals(name))
			.findFirst()
			.orElseThrow();
	}

	@Test
	default void recordsAreCountedByTheirState() {
		String scope = RecordsContract.newScope();
		List.of(Known.LIVE, Known.EXPIRED, Known.FAILED, Known.RELEASED, Known.COMPLETED, Known.COMPLETED,
				Known.COMPLETED)
			.forEach((known) -> known.reach(this, RecordsContract.newKey(scope)));
		assertThat(scope(scope)).usingRecursiveComparison()
			.ignoringFields("oldestInProgress")
			.isEqualTo(new ScopeCount(scope, 2, 1, 2, 3, null));
	}

	@Test
	default void scopesAreCountedSeparately() {
		List<String> scopes = List.of(RecordsContract.newScope(),
				RecordsContract.newScope() + "/with:other? signs %_*");
		scopes.forEach((scope) -> Known.LIVE.reach(this, RecordsContract.newKey(scope)));
		assertThat(scopes).allSatisfy((scope) -> assertThat(scope(scope).inProgress()).isOne());
	}

	@Test
	default void overviewHasTheAgeOfTheOldestClaimInProgress() {
		String scope = RecordsContract.newScope();
		Known.COMPLETED.reach(this, RecordsContract.newKey(scope));
		assertThat(scope(scope).oldestInProgress()).isNull();
		Known.LIVE.reach(this, RecordsContract.newKey(scope));
		letPass(Duration.ofMillis(50));
		Known.LIVE.reach(this, RecordsContract.newKey(scope));
		assertThat(scope(scope).oldestInProgress()).isBetween(Duration.ofMillis(50), Duration.ofMinutes(1));
	}

	@Test
	default void fewRecordsAreCountedCompletely() {
		Overview overview = records().overview();
		assertThat(overview.complete()).isTrue();
		assertThat(overview.estimate()).isNull();
	}

}
