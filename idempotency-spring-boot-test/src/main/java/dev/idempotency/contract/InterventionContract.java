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
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyRecords.Change;
import dev.idempotency.store.IdempotencyStore.Settlement;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Changes of a record by an operator.
 */
interface InterventionContract extends RecordsContract {

	private void assertLost(ClaimRequest zombie) {
		assertAnswer(zombie, Settlement.LOST);
	}

	private void assertAnswer(ClaimRequest zombie, Settlement answer) {
		IdempotencyRecord before = one(store()).find(zombie.key()).orElse(null);
		for (Mutation mutation : Mutation.values()) {
			assertThat(mutation.apply(store(), zombie)).as(mutation.name()).isEqualTo(answer);
		}
		if (before != null) {
			assertUnchanged(zombie.key(), before);
		}
	}

	@ParameterizedTest
	@CsvSource({ "EXPIRED,false,2", "LIVE,true,2", "FAILED,false,2", "RELEASED,true,1" })
	@Tag("promise-4")
	default void releasedKeyIsClaimableAtOnceWithALargerFenceAndItsOwnerLosesIt(Known known, boolean force,
			int attempt) {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest zombie = known.reach(this, key);
		int fence = record(key).fence();
		assertThat(records().release(key, force)).isEqualTo(Change.DONE);
		assertThat(record(key).state()).isEqualTo(State.FAILED);
		assertLost(zombie);
		Claim.Acquired claim = Requests.acquire(store(), Requests.request(key));
		assertThat(claim.fence()).isGreaterThan(fence);
		assertThat(claim.attempt()).isEqualTo(attempt);
		assertLost(zombie);
	}

	@Test
	default void ownerThatClaimsAReleasedKeyAgainIsANewOwner() {
		ClaimRequest owner = Known.LIVE.reach(this, Requests.newKey());
		int fence = record(owner.key()).fence();
		records().release(owner.key(), true);
		assertThat(Requests.acquire(store(), owner).fence()).isGreaterThan(fence);
		assertThat(one(store()).complete(owner, null)).isEqualTo(Settlement.SETTLED);
	}

	@Test
	default void releaseKeepsTheFailureAndTheTimes() {
		IdempotencyKey key = Requests.newKey();
		Known.FAILED.reach(this, key);
		IdempotencyRecord before = record(key);
		records().release(key, false);
		assertUnchanged(key, before);
	}

	@Test
	@Tag("promise-9")
	default void releasedKeyAcceptsOtherContent() {
		IdempotencyKey key = Requests.newKey();
		Known.LIVE.reach(this, key, "a");
		records().release(key, true);
		assertThat(one(store()).claim(Requests.request(key, "b", Requests.LEASE, Requests.RETENTION)))
			.isInstanceOf(Claim.Acquired.class);
	}

	@Test
	@Tag("promise-2")
	default void liveClaimIsNotChangedWithoutForce() {
		ClaimRequest owner = Known.LIVE.reach(this, Requests.newKey());
		IdempotencyRecord before = record(owner.key());
		assertThat(records().release(owner.key(), false)).isEqualTo(Change.ALIVE);
		assertThat(records().evict(owner.key(), false)).isEqualTo(Change.ALIVE);
		assertUnchanged(owner.key(), before);
		assertThat(one(store()).complete(owner, null)).isEqualTo(Settlement.SETTLED);
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-3")
	default void completedKeyIsNotReleased(boolean force) {
		ClaimRequest owner = Known.COMPLETED.reach(this, Requests.newKey());
		assertThat(records().release(owner.key(), force)).isEqualTo(Change.COMPLETED);
		assertThat(one(store()).claim(Requests.request(owner.key()))).isInstanceOf(Claim.Completed.class);
	}

	@Test
	default void absentKeyIsNotChanged() {
		IdempotencyKey key = Requests.newKey();
		assertThat(records().release(key, true)).isEqualTo(Change.ABSENT);
		assertThat(records().evict(key, true)).isEqualTo(Change.ABSENT);
		assertThat(one(store()).find(key)).isEmpty();
	}

	@ParameterizedTest
	@EnumSource
	@Tag("promise-4")
	default void evictedKeyStartsAnew(Known known) {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest zombie = known.reach(this, key, "a");
		assertThat(records().evict(key, known == Known.LIVE)).isEqualTo(Change.DONE);
		assertThat(one(store()).find(key)).isEmpty();
		assertAnswer(zombie, Settlement.FORGOTTEN);
		assertThat(one(store()).find(key)).isEmpty();
		Claim.Acquired claim = Requests.acquire(store(),
				Requests.request(key, "b", Requests.LEASE, Requests.RETENTION));
		assertThat(claim).isEqualTo(new Claim.Acquired(1, 1));
		assertLost(zombie);
	}

	@Test
	@Tag("promise-8")
	default void resultOfACompletedKeyIsReturned() {
		ClaimRequest owner = Known.LIVE.reach(this, Requests.newKey());
		assertThat(records().result(owner.key())).isEmpty();
		one(store()).complete(owner, new byte[] { 1, 0, -1 });
		assertThat(records().result(owner.key())).hasValueSatisfying((it) -> assertThat(it).containsExactly(1, 0, -1));
		assertThat(records().result(Requests.newKey())).isEmpty();
	}

}
