/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.time.Instant;
import java.util.List;

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
 * Renewals of leases.
 */
interface RenewalContract extends StoreContract {

	@Test
	@Tag("promise-7")
	default void renewalStartsANewLease() {
		ClaimRequest owner = Known.LIVE.reach(this, Requests.newKey());
		Instant before = record(owner.key()).claimedUntil();
		letPass(lease());
		one(store()).renew(owner);
		assertThat(record(owner.key()).claimedUntil()).isAfterOrEqualTo(before.plus(lease()));
	}

	@Test
	@Tag("promise-2")
	@Tag("promise-7")
	default void expiredClaimIsAliveAfterItsRenewal() {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest owner = Known.EXPIRED.reach(this, key);
		one(store()).renew(withLongLease(owner));
		assertThat(one(store()).claim(Requests.request(key))).isInstanceOf(Claim.InProgress.class);
	}

	@Test
	@Tag("promise-7")
	default void renewedClaimExpires() {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest owner = Requests.request(key, lease());
		one(store()).claim(owner);
		one(store()).renew(owner);
		letExpire(owner);
		assertThat(one(store()).claim(Requests.request(key))).isInstanceOf(Claim.Acquired.class);
	}

	@Test
	default void renewalCountsNoAttemptAndChangesNoFence() {
		ClaimRequest owner = Requests.request(Requests.newKey());
		Claim.Acquired claim = Requests.acquire(store(), owner);
		one(store()).renew(owner);
		assertThat(record(owner.key())).satisfies((record) -> {
			assertThat(record.attempt()).isEqualTo(claim.attempt());
			assertThat(record.fence()).isEqualTo(claim.fence());
		});
	}

	@Test
	default void renewalsOfSeveralClaimsReturnTheirOutcomesInOrder() {
		ClaimRequest live = Known.LIVE.reach(this, Requests.newKey());
		ClaimRequest absent = Requests.request(Requests.newKey());
		ClaimRequest runOut = Known.EXPIRED.reach(this, Requests.newKey());
		ClaimRequest completed = Known.COMPLETED.reach(this, Requests.newKey());
		ClaimRequest foreign = Requests.request(Known.LIVE.reach(this, Requests.newKey()).key());
		assertThat(store().renew(List.of(absent, live, completed, foreign, runOut))).containsExactly(
				Settlement.FORGOTTEN, Settlement.SETTLED, Settlement.LOST, Settlement.LOST, Settlement.SETTLED);
	}

	@Test
	@Tag("promise-7")
	default void eachOfSeveralClaimsIsRenewedIndependently() {
		ClaimRequest first = Known.EXPIRED.reach(this, Requests.newKey());
		ClaimRequest second = Known.EXPIRED.reach(this, Requests.newKey());
		ClaimRequest lost = Requests.request(Requests.newKey());
		store().renew(List.of(withLongLease(first), lost, withLongLease(second)));
		assertThat(one(store()).claim(Requests.request(first.key()))).isInstanceOf(Claim.InProgress.class);
		assertThat(one(store()).claim(Requests.request(second.key()))).isInstanceOf(Claim.InProgress.class);
		assertThat(one(store()).find(lost.key())).isEmpty();
	}

	@Test
	default void emptyRenewalReturnsNoOutcome() {
		assertThat(store().renew(List.of())).isEmpty();
	}

	@ParameterizedTest
	@EnumSource(names = { "COMPLETED", "FAILED", "RELEASED" })
	@Tag("promise-4")
	default void renewalOfSeveralClaimsDoesNotChangeASettledClaim(Known settled) {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest owner = settled.reach(this, key);
		IdempotencyRecord before = record(key);
		assertThat(store().renew(List.of(owner))).containsExactly(Settlement.LOST);
		assertUnchanged(key, before);
	}

	private static ClaimRequest withLongLease(ClaimRequest claim) {
		return new ClaimRequest(claim.key(), claim.token(), claim.fingerprint(), Requests.LEASE, claim.retention());
	}

}
