/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.time.Duration;
import java.time.temporal.ChronoUnit;

import org.assertj.core.data.TemporalUnitOffset;
import org.assertj.core.data.TemporalUnitWithinOffset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

/**
 * Look-ups of the record of a key.
 */
interface FindContract extends StoreContract {

	/**
	 * The tolerance of a time.
	 */
	TemporalUnitOffset CLOSE = new TemporalUnitWithinOffset(1, ChronoUnit.SECONDS);

	@Test
	default void absentKeyHasNoRecord() {
		assertThat(one(store()).find(Requests.newKey())).isEmpty();
	}

	@ParameterizedTest
	@EnumSource
	default void recordHasTheState(Known known) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this, key);
		assertThat(record(key).state()).isEqualTo(switch (known) {
			case LIVE, EXPIRED -> State.IN_PROGRESS;
			case FAILED, RELEASED -> State.FAILED;
			case COMPLETED -> State.COMPLETED;
		});
	}

	@ParameterizedTest
	@EnumSource
	default void recordHasTheEndOfItsClaimOnlyInProgress(Known known) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this, key);
		assertThat(record(key).claimedUntil() != null).isEqualTo(known == Known.LIVE || known == Known.EXPIRED);
	}

	@ParameterizedTest
	@EnumSource
	default void recordHasAFailureOnlyWhenFailed(Known known) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this, key);
		assertThat(record(key).failure()).isEqualTo((known == Known.FAILED) ? Requests.FAILURE : null);
	}

	@ParameterizedTest
	@EnumSource
	default void recordHasATimeOfCompletionOnlyWhenCompleted(Known known) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this, key);
		assertThat(record(key).completedAt() != null).isEqualTo(known == Known.COMPLETED);
	}

	@Test
	default void timeOfCompletionIsTakenFromTheClockOfTheStore() {
		ClaimRequest owner = Known.LIVE.reach(this, Requests.newKey());
		Duration pause = precision().plusMillis(20);
		letPass(pause);
		one(store()).complete(owner, null);
		ClaimRequest later = Known.LIVE.reach(this, Requests.newKey());
		assertThat(record(owner.key()).completedAt()).isBetween(record(owner.key()).createdAt().plus(pause),
				record(later.key()).createdAt());
	}

	@ParameterizedTest
	@EnumSource
	default void lookUpChangesNothing(Known known) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this, key);
		assertUnchanged(key, record(key));
	}

	@Test
	default void timesAreCountedFromTheClaim() {
		IdempotencyKey key = Requests.newKey();
		Known.LIVE.reach(this, key);
		IdempotencyRecord record = record(key);
		assertThat(record.claimedUntil()).isCloseTo(record.createdAt().plus(Requests.LEASE), CLOSE);
		assertThat(record.expiresAt()).isCloseTo(record.createdAt().plus(Requests.RETENTION), CLOSE);
	}

	@ParameterizedTest
	@EnumSource
	default void mutationChangesNeitherCreationNorExpiry(Mutation mutation) {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest owner = Known.LIVE.reach(this, key);
		IdempotencyRecord before = record(key);
		letPass(precisionOfTheEnd().plusMillis(20));
		mutation.apply(store(), owner);
		assertThat(record(key).createdAt()).isEqualTo(before.createdAt());
		assertThat(record(key).expiresAt()).isCloseTo(before.expiresAt(),
				within(precisionOfTheEnd().toMillis(), ChronoUnit.MILLIS));
	}

	@Test
	default void nextClaimRemovesTheFailureAndKeepsTheCreation() {
		IdempotencyKey key = Requests.newKey();
		Known.FAILED.reach(this, key);
		IdempotencyRecord before = record(key);
		Claim.Acquired claim = Requests.acquire(store(), Requests.request(key));
		assertThat(record(key)).satisfies((record) -> {
			assertThat(record.key()).isEqualTo(key);
			assertThat(record.state()).isEqualTo(State.IN_PROGRESS);
			assertThat(record.failure()).isNull();
			assertThat(record.fence()).isEqualTo(claim.fence());
			assertThat(record.attempt()).isEqualTo(2);
			assertThat(record.createdAt()).isEqualTo(before.createdAt());
		});
	}

}
