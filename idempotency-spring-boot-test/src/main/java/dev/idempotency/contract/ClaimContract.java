/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.time.Duration;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Claims of one key.
 */
interface ClaimContract extends StoreContract {

	@Test
	default void absentKeyIsAcquiredForTheFirstAttempt() {
		Claim.Acquired claim = Requests.acquire(store(), Requests.request(Requests.newKey()));
		assertThat(claim.attempt()).isOne();
		assertThat(claim.fence()).isPositive();
	}

	@Test
	@Tag("promise-2")
	default void liveClaimReturnsItsRemainingLease() {
		IdempotencyKey key = Requests.newKey();
		one(store()).claim(Requests.request(key));
		assertThat(one(store()).claim(Requests.request(key))).isInstanceOfSatisfying(Claim.InProgress.class,
				(claim) -> assertThat(claim.retryAfter()).isBetween(Requests.LEASE.dividedBy(2),
						Requests.LEASE.plus(precision())));
	}

	@Test
	@Tag("promise-2")
	default void liveClaimStaysWhenAnotherOwnerClaimsTheKey() {
		IdempotencyKey key = Requests.newKey();
		one(store()).claim(Requests.request(key));
		IdempotencyRecord before = record(key);
		one(store()).claim(Requests.request(key));
		assertUnchanged(key, before);
	}

	@Test
	@Tag("promise-2")
	@Tag("promise-7")
	default void claimIsTakenOverWhenItsLeaseHasExpiredAndNotBefore() {
		IdempotencyKey key = Requests.newKey();
		long asked = System.nanoTime();
		one(store()).claim(Requests.request(key, lease()));
		await().atMost(lease().plusSeconds(10))
			.pollDelay(Duration.ZERO)
			.pollInterval(Duration.ofMillis(1))
			.until(() -> one(store()).claim(Requests.request(key)), Requests::isAcquired);
		assertThat(Duration.ofNanos(System.nanoTime() - asked)).isGreaterThanOrEqualTo(lease().minus(precision()));
	}

	@Test
	@Tag("promise-4")
	default void takeOverHasTheNextAttemptAndALargerFence() {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest owner = Requests.request(key, lease());
		Claim.Acquired first = Requests.acquire(store(), owner);
		letExpire(owner);
		Claim.Acquired second = Requests.acquire(store(), Requests.request(key));
		assertThat(second.attempt()).isEqualTo(2);
		assertThat(second.fence()).isGreaterThan(first.fence());
	}

	@Test
	@Tag("promise-3")
	default void completedKeyReturnsItsResult() {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest owner = Known.COMPLETED.reach(this, key);
		assertThat(one(store()).claim(Requests.request(key))).isInstanceOfSatisfying(Claim.Completed.class,
				(claim) -> assertThat(claim.result()).asString().isEqualTo(owner.token().toString()));
	}

	@Test
	@Tag("promise-3")
	default void completedKeyStaysWhenItIsClaimed() {
		IdempotencyKey key = Requests.newKey();
		Known.COMPLETED.reach(this, key);
		IdempotencyRecord before = record(key);
		one(store()).claim(Requests.request(key));
		assertUnchanged(key, before);
	}

	@Test
	default void failedKeyIsAcquiredAtOnceForTheNextAttempt() {
		IdempotencyKey key = Requests.newKey();
		Known.FAILED.reach(this, key);
		assertThat(Requests.acquire(store(), Requests.request(key)).attempt()).isEqualTo(2);
	}

	@Test
	default void releasedKeyIsAcquiredAtOnceForTheSameAttempt() {
		IdempotencyKey key = Requests.newKey();
		Known.RELEASED.reach(this, key);
		assertThat(Requests.acquire(store(), Requests.request(key)).attempt()).isOne();
	}

	@Test
	@Tag("promise-4")
	default void fencesGrowFromClaimToClaim() {
		IdempotencyKey key = Requests.newKey();
		int fence = 0;
		for (Mutation end : new Mutation[] { Mutation.FAIL, Mutation.RELEASE, Mutation.RELEASE, Mutation.FAIL }) {
			ClaimRequest owner = Requests.request(key);
			Claim.Acquired claim = Requests.acquire(store(), owner);
			assertThat(claim.fence()).as("After fence %s", fence).isGreaterThan(fence);
			fence = claim.fence();
			end.apply(store(), owner);
		}
	}

	@Test
	default void storeAnswersAPingAndHasAName() {
		store().ping();
		assertThat(store().name()).isNotBlank();
	}

}
