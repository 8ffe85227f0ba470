/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.util.List;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Claims of the same keys by many threads.
 */
interface CompetitionContract extends StoreContract {

	@Test
	@Tag("promise-2")
	@Tag("promise-3")
	@Tag("promise-4")
	default void ownersNeverOverlapFencesGrowCompletionIsFinalAndZombiesChangeNothing() throws Exception {
		Competition competition = new Competition(store(), lease(), System.nanoTime());
		History history = competition.run(Crowd.SIZE, competition());
		assertThat(history.violations(precision())).as(competition.toString()).isEmpty();
		assertThat(history.completions()).as("Completions").isPositive();
		assertThat(history.abandoned()).as("Claims that were left to expire").isPositive();
		assertThat(history.zombies()).as("Calls of zombies").isPositive();
	}

	@Test
	@Tag("promise-2")
	default void oneOfManyAcquiresAnAbsentKey() throws Exception {
		for (int round = 0; round < 20; round++) {
			assertOneAcquires(Requests.newKey());
		}
	}

	@ParameterizedTest
	@EnumSource(names = { "FAILED", "RELEASED", "EXPIRED" })
	@Tag("promise-2")
	default void oneOfManyAcquiresAClaimableKey(Known free) throws Exception {
		for (int round = 0; round < 5; round++) {
			IdempotencyKey key = Requests.newKey();
			free.reach(this, key);
			assertOneAcquires(key);
		}
	}

	private void assertOneAcquires(IdempotencyKey key) throws Exception {
		List<Claim> claims = Crowd.of(() -> one(store()).claim(Requests.request(key)));
		assertThat(claims).filteredOn(Requests::isAcquired).hasSize(1);
		assertThat(claims).filteredOn(Claim.InProgress.class::isInstance).hasSize(Crowd.SIZE - 1);
	}

}
