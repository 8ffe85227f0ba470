/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore.Settlement;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Restoration of claims that the store has forgotten.
 */
interface RestoreContract extends StoreContract {

	/**
	 * The claim whose record the store has lost.
	 */
	Claim.Acquired ACQUIRED = new Claim.Acquired(7, 3);

	private ClaimRequest restored(IdempotencyKey key) {
		ClaimRequest owner = Requests.request(key, lease());
		assertThat(store().restore(owner, ACQUIRED)).isEqualTo(Settlement.SETTLED);
		return owner;
	}

	@Test
	@Tag("promise-4")
	default void forgottenClaimIsRestoredWithItsFenceAndAttempt() {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest owner = Requests.request(key);
		assertThat(store().restore(owner, ACQUIRED)).isEqualTo(Settlement.SETTLED);
		IdempotencyRecord record = record(key);
		assertThat(record.state()).isEqualTo(State.IN_PROGRESS);
		assertThat(record.fence()).isEqualTo(7);
		assertThat(record.attempt()).isEqualTo(3);
		assertThat(one(store()).claim(Requests.request(key))).isInstanceOf(Claim.InProgress.class);
		assertThat(Mutation.COMPLETE.apply(store(), owner)).isEqualTo(Settlement.SETTLED);
		assertThat(one(store()).claim(Requests.request(key))).isInstanceOf(Claim.Completed.class);
	}

	@Test
	@Tag("promise-4")
	@Tag("promise-7")
	default void restoredClaimIsTakenOverWithALargerFenceWhenItsLeaseHasExpired() {
		IdempotencyKey key = Requests.newKey();
		letExpire(restored(key));
		assertThat(one(store()).claim(Requests.request(key))).isEqualTo(new Claim.Acquired(8, 4));
	}

	@Test
	@Tag("promise-9")
	default void restoredClaimKeepsItsContent() {
		IdempotencyKey key = Requests.newKey();
		store().restore(Requests.request(key, "content", Requests.LEASE, Requests.RETENTION), ACQUIRED);
		assertThat(one(store()).claim(Requests.request(key, "other", Requests.LEASE, Requests.RETENTION)))
			.isInstanceOf(Claim.Mismatch.class);
	}

	@ParameterizedTest
	@EnumSource
	@Tag("promise-2")
	@Tag("promise-3")
	@Tag("promise-4")
	default void recordOfAnotherOwnerIsNotReplaced(Known known) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this, key);
		IdempotencyRecord before = record(key);
		assertThat(store().restore(Requests.request(key), ACQUIRED)).isEqualTo(Settlement.LOST);
		assertUnchanged(key, before);
	}

	@ParameterizedTest
	@EnumSource(names = { "FAILED", "RELEASED", "COMPLETED" })
	@Tag("promise-3")
	default void ownerCannotRestoreASettledClaim(Known settled) {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest owner = settled.reach(this, key);
		IdempotencyRecord before = record(key);
		assertThat(store().restore(owner, ACQUIRED)).isEqualTo(Settlement.LOST);
		assertUnchanged(key, before);
	}

	@ParameterizedTest
	@EnumSource(names = { "LIVE", "EXPIRED" })
	default void claimWithARecordKeepsItsFenceAndGetsANewLease(Known known) {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest owner = known.reach(this, key);
		ClaimRequest again = new ClaimRequest(key, owner.token(), null, Requests.LEASE, owner.retention());
		assertThat(store().restore(again, ACQUIRED)).isEqualTo(Settlement.SETTLED);
		assertThat(record(key).fence()).isOne();
		assertThat(one(store()).claim(Requests.request(key))).isInstanceOf(Claim.InProgress.class);
	}

	@Test
	@Tag("promise-2")
	default void oneOfManyRestoresAndClaimsOwnsAnAbsentKey() throws Exception {
		for (int round = 0; round < 10; round++) {
			IdempotencyKey key = Requests.newKey();
			AtomicInteger turn = new AtomicInteger();
			List<Boolean> owners = Crowd.of(() -> {
				ClaimRequest request = Requests.request(key);
				return (turn.getAndIncrement() % 2 == 0) ? Requests.isAcquired(one(store()).claim(request))
						: store().restore(request, ACQUIRED) == Settlement.SETTLED;
			});
			assertThat(owners).containsOnlyOnce(true);
		}
	}

}
