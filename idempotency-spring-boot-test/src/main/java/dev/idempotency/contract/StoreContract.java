/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.time.Duration;
import java.time.Instant;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Helpers for the tests of one concern. Each concern is an interface, so that one class
 * under the name of the store runs all tests.
 */
interface StoreContract {

	/**
	 * The interval between two looks at a store.
	 */
	Duration POLL = Duration.ofMillis(2);

	IdempotencyStore store();

	/**
	 * Return a short lease, for tests that wait until it has expired.
	 */
	default Duration lease() {
		return Duration.ofMillis(100);
	}

	/**
	 * Return a short retention, for tests that wait until it has expired.
	 */
	default Duration retention() {
		return Duration.ofMillis(500);
	}

	/**
	 * Return the unit in which the store holds times. Times may differ by it.
	 */
	default Duration precision() {
		return Duration.ofMillis(1);
	}

	/**
	 * Return the largest difference between the ends of the retention that two look-ups
	 * of the same record return.
	 */
	default Duration precisionOfTheEnd() {
		return precision();
	}

	/**
	 * Return whether the server of the store has a clock that decides whether a lease has
	 * expired. Without one, a claim has expired when a process has seen it unchanged for
	 * its whole lease. The tests then look at a claim before they let its lease expire.
	 */
	default boolean hasClock() {
		return true;
	}

	Duration competition();

	/**
	 * Let the lease of a claim expire, so that the next request for its key takes it
	 * over.
	 */
	default void letExpire(ClaimRequest owner) {
		if (!hasClock()) {
			assertThat(one(store()).claim(Requests.request(owner.key()))).isInstanceOf(Claim.InProgress.class);
		}
		letPass(owner.lease());
	}

	// The clock of the store decides when the time has passed. A claim with this lease
	// shows it by its expiry.
	default void letPass(Duration time) {
		IdempotencyKey witness = Requests.newKey();
		one(store()).claim(Requests.request(witness, time.plus(precision())));
		await().atMost(time.plusSeconds(10))
			.pollDelay(Duration.ZERO)
			.pollInterval(POLL)
			.until(() -> one(store()).claim(Requests.request(witness)), Requests::isAcquired);
	}

	default IdempotencyRecord record(IdempotencyKey key) {
		return one(store()).find(key).orElseThrow(() -> new AssertionError("There is no record of the " + key));
	}

	/**
	 * Assert that a record is unchanged. Times are compared with the precision of the
	 * store.
	 */
	default void assertUnchanged(IdempotencyKey key, IdempotencyRecord expected) {
		assertThat(record(key)).usingRecursiveComparison()
			.withComparatorForType((left, right) -> compare(left, right, precision()), Instant.class)
			.withComparatorForFields((left, right) -> compare((Instant) left, (Instant) right, precisionOfTheEnd()),
					"expiresAt")
			.isEqualTo(expected);
	}

	private static int compare(Instant left, Instant right, Duration precision) {
		return (Duration.between(left, right).abs().compareTo(precision) <= 0) ? 0 : left.compareTo(right);
	}

}
