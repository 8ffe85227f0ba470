/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.time.Duration;
import java.util.Optional;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Settlement;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * Claims of processes whose clocks differ by hours.
 */
interface ClockContract extends StoreContract {

	/**
	 * The difference between the clocks.
	 */
	Duration DIFFERENCE = Duration.ofHours(3);

	/**
	 * Return a store with the same records in a process with another clock. A store whose
	 * server has a clock does not read that of its process, so it need not override this
	 * method.
	 */
	default Optional<IdempotencyStore> storeWithClock(Duration ahead) {
		return Optional.empty();
	}

	private IdempotencyStore ahead() {
		return with(DIFFERENCE);
	}

	private IdempotencyStore behind() {
		return with(DIFFERENCE.negated());
	}

	private IdempotencyStore with(Duration ahead) {
		Optional<IdempotencyStore> store = storeWithClock(ahead);
		assumeTrue(store.isPresent(), "Override storeWithClock() if the store reads the clock of its process");
		return store.orElseThrow();
	}

	@Test
	@Tag("promise-2")
	default void liveClaimIsNotTakenOverByAProcessWhoseClockIsAhead() {
		IdempotencyStore other = ahead();
		ClaimRequest owner = Known.LIVE.reach(this, Requests.newKey());
		assertThat(one(other).claim(Requests.request(owner.key()))).isInstanceOf(Claim.InProgress.class);
		assertThat(one(store()).renew(owner)).isEqualTo(Settlement.SETTLED);
	}

	@Test
	@Tag("promise-2")
	default void liveClaimOfAProcessWhoseClockIsBehindIsNotTakenOver() {
		IdempotencyStore other = behind();
		ClaimRequest owner = Requests.request(Requests.newKey());
		Requests.acquire(other, owner);
		assertThat(one(store()).claim(Requests.request(owner.key()))).isInstanceOf(Claim.InProgress.class);
		assertThat(one(other).renew(owner)).isEqualTo(Settlement.SETTLED);
		assertThat(one(store()).claim(Requests.request(owner.key()))).isInstanceOf(Claim.InProgress.class);
	}

	@Test
	@Tag("promise-7")
	default void expiredClaimOfAProcessWhoseClockIsAheadIsTakenOver() {
		assertIsTakenOver(ahead(), store());
	}

	@Test
	@Tag("promise-7")
	default void expiredClaimIsTakenOverByAProcessWhoseClockIsBehind() {
		assertIsTakenOver(store(), behind());
	}

	private void assertIsTakenOver(IdempotencyStore from, IdempotencyStore by) {
		IdempotencyKey key = Requests.newKey();
		long asked = System.nanoTime();
		Requests.acquire(from, Requests.request(key, lease()));
		await().atMost(lease().plusSeconds(10))
			.pollDelay(Duration.ZERO)
			.pollInterval(POLL)
			.until(() -> one(by).claim(Requests.request(key)), Requests::isAcquired);
		assertThat(Duration.ofNanos(System.nanoTime() - asked)).isGreaterThanOrEqualTo(lease().minus(precision()));
	}

}
