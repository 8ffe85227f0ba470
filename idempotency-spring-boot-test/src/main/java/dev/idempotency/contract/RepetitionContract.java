/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore.Settlement;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Calls that are repeated with the same owner token, for example after a lost answer.
 */
interface RepetitionContract extends StoreContract {

	@Test
	default void repeatedClaimHasTheSameFenceAndAttempt() {
		ClaimRequest owner = Requests.request(Requests.newKey());
		Claim first = one(store()).claim(owner);
		assertThat(first).isInstanceOf(Claim.Acquired.class);
		assertThat(one(store()).claim(owner)).isEqualTo(first);
	}

	@Test
	default void repeatedClaimOfALaterAttemptHasTheSameFenceAndAttempt() {
		IdempotencyKey key = Requests.newKey();
		Known.FAILED.reach(this, key);
		ClaimRequest owner = Requests.request(key);
		Claim first = one(store()).claim(owner);
		assertThat(first).isInstanceOf(Claim.Acquired.class);
		assertThat(one(store()).claim(owner)).isEqualTo(first);
	}

	@Test
	default void repeatedClaimStartsANewLease() {
		ClaimRequest owner = Requests.request(Requests.newKey());
		one(store()).claim(owner);
		IdempotencyRecord before = record(owner.key());
		letPass(lease());
		one(store()).claim(owner);
		assertThat(record(owner.key()).claimedUntil()).isAfterOrEqualTo(before.claimedUntil().plus(lease()));
	}

	@Test
	default void expiredClaimMayBeRepeated() {
		ClaimRequest owner = Requests.request(Requests.newKey(), lease());
		Claim first = one(store()).claim(owner);
		letPass(lease());
		assertThat(one(store()).claim(owner)).isEqualTo(first);
	}

	@Test
	@Tag("promise-2")
	default void claimThatWasTakenOverIsNotAcquiredAgain() {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest zombie = Known.EXPIRED.reach(this, key);
		Known.LIVE.reach(this, key);
		assertThat(one(store()).claim(zombie)).isInstanceOf(Claim.InProgress.class);
	}

	@Test
	@Tag("promise-3")
	default void repeatedClaimOfACompletedKeyReturnsTheResult() {
		ClaimRequest owner = Known.COMPLETED.reach(this, Requests.newKey());
		assertThat(one(store()).claim(owner)).isInstanceOf(Claim.Completed.class);
	}

	@ParameterizedTest
	@EnumSource(names = { "COMPLETED", "FAILED", "RELEASED" })
	default void repeatedSettlementIsSettledAndChangesNothing(Known settled) {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest owner = settled.reach(this, key);
		IdempotencyRecord before = record(key);
		Mutation repeated = switch (settled) {
			case COMPLETED -> Mutation.COMPLETE;
			case FAILED -> Mutation.FAIL;
			default -> Mutation.RELEASE;
		};
		assertThat(repeated.apply(store(), owner)).isEqualTo(Settlement.SETTLED);
		assertUnchanged(key, before);
	}

}
