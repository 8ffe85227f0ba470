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

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The retention of keys.
 */
interface RetentionContract extends StoreContract {

	@Test
	@Tag("promise-3")
	default void completedKeyIsAcquiredWhenItsRetentionHasExpiredAndNotBefore() {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest owner = Requests.request(key, lease(), retention());
		long asked = System.nanoTime();
		one(store()).claim(owner);
		one(store()).complete(owner, null);
		await().atMost(retention().plusSeconds(10))
			.pollDelay(Duration.ZERO)
			.pollInterval(POLL)
			.until(() -> one(store()).claim(Requests.request(key)), Requests::isAcquired);
		assertThat(Duration.ofNanos(System.nanoTime() - asked)).isGreaterThanOrEqualTo(retention().minus(precision()));
	}

	@Test
	default void completedKeyStartsAnewAfterItsRetention() {
		IdempotencyKey key = Requests.newKey();
		Known.FAILED.reach(this, key);
		ClaimRequest second = Requests.request(key, lease(), retention());
		one(store()).claim(second);
		one(store()).complete(second, null);
		letPass(retention());
		assertThat(Requests.acquire(store(), Requests.request(key)).attempt()).isOne();
		assertThat(record(key).completedAt()).isNull();
	}

	@Test
	default void completionDoesNotExtendTheRetention() {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest owner = Requests.request(key, lease(), retention());
		one(store()).claim(owner);
		ClaimRequest witness = Requests.request(Requests.newKey(), retention().plus(precision()));
		one(store()).claim(witness);
		letPass(retention().dividedBy(2));
		one(store()).complete(owner, null);
		await().atMost(retention().plusSeconds(10))
			.pollDelay(Duration.ZERO)
			.pollInterval(POLL)
			.until(() -> one(store()).claim(Requests.request(witness.key())), Requests::isAcquired);
		assertThat(one(store()).claim(Requests.request(key))).isInstanceOf(Claim.Acquired.class);
	}

	@Test
	default void takeOverStartsANewRetention() {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest first = Requests.request(key, Requests.LEASE, retention());
		one(store()).claim(first);
		one(store()).fail(first, Requests.FAILURE);
		Known.COMPLETED.reach(this, key);
		letPass(retention());
		assertThat(one(store()).claim(Requests.request(key))).isInstanceOf(Claim.Completed.class);
	}

	@Test
	@Tag("promise-2")
	default void liveClaimOutlivesItsRetention() {
		IdempotencyKey key = Requests.newKey();
		one(store()).claim(Requests.request(key, Requests.LEASE, retention()));
		letPass(retention());
		assertThat(one(store()).claim(Requests.request(key))).isInstanceOf(Claim.InProgress.class);
	}

	@Test
	@Tag("promise-2")
	default void renewedClaimOutlivesItsRetention() {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest owner = Requests.request(key, Requests.LEASE, retention());
		one(store()).claim(owner);
		one(store()).renew(owner);
		letPass(retention());
		assertThat(one(store()).claim(Requests.request(key))).isInstanceOf(Claim.InProgress.class);
	}

}
