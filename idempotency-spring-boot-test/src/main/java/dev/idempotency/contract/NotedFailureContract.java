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
import org.junit.jupiter.params.provider.ValueSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore.Settlement;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Failures that are recorded after a rollback.
 */
interface NotedFailureContract extends TransactionContract {

	@Test
	@Tag("promise-5")
	default void failureOfAnAbsentKeyIsRecordedAsTheFirstAttempt() {
		IdempotencyKey key = Requests.newKey();
		assertThat(note(key)).isEqualTo(Settlement.SETTLED);
		assertThat(record(key)).satisfies((record) -> {
			assertThat(record.state()).isEqualTo(State.FAILED);
			assertThat(record.attempt()).isOne();
			assertThat(record.failure()).isEqualTo(Requests.FAILURE);
		});
	}

	@Test
	@Tag("promise-5")
	default void nextFailureCountsTheNextAttempt() {
		IdempotencyKey key = Requests.newKey();
		note(key);
		int fence = record(key).fence();
		assertThat(note(key)).isEqualTo(Settlement.SETTLED);
		assertThat(record(key).attempt()).isEqualTo(2);
		assertThat(record(key).fence()).isGreaterThan(fence);
	}

	@Test
	@Tag("promise-5")
	default void keyWithARecordedFailureIsAcquiredForTheNextAttempt() {
		IdempotencyKey key = Requests.newKey();
		note(key);
		assertThat(Requests.acquire(store(), Requests.request(key)).attempt()).isEqualTo(2);
	}

	@ParameterizedTest
	@EnumSource(names = { "LIVE", "COMPLETED" })
	@Tag("promise-3")
	@Tag("promise-4")
	default void failureIsNotRecordedForAKeyThatIsNotClaimable(Known known) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this, key);
		IdempotencyRecord before = record(key);
		assertThat(note(key)).isEqualTo(Settlement.LOST);
		assertUnchanged(key, before);
	}

	@Test
	@Tag("promise-4")
	default void ownerOfAnExpiredClaimIsFencedByARecordedFailure() {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest zombie = Known.EXPIRED.reach(this, key);
		assertThat(note(key)).isEqualTo(Settlement.SETTLED);
		assertThat(one(store()).complete(zombie, null)).isEqualTo(Settlement.LOST);
	}

	@Test
	@Tag("promise-3")
	default void failureIsNotRecordedWhileAnotherTransactionHoldsTheKey() {
		IdempotencyKey key = Requests.newKey();
		commit(() -> {
			insert(key);
			elsewhere(() -> assertThat(note(key)).isEqualTo(Settlement.LOST));
			return null;
		});
		assertThat(record(key).state()).isEqualTo(State.COMPLETED);
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-5")
	default void completionThatTheHandlerHasCommittedIsUndoneWithoutAnAttempt() {
		ClaimRequest inserted = Requests.request(Requests.newKey());
		ClaimRequest batched = Requests.request(Requests.newKey());
		ClaimRequest retried = Requests.request(Requests.newKey());
		note(retried.key());
		commit(() -> {
			one(store()).insert(inserted);
			store().insert(List.of(batched));
			return store().claimInTransaction(List.of(retried), false).get(0);
		});
		List<ClaimRequest> own = List.of(inserted, batched, retried);
		store().settleAfterTransaction(Endings.released(own), List.of());
		store().settleAfterTransaction(Endings.released(own), List.of());
		assertThat(own).allSatisfy((claim) -> {
			assertThat(record(claim.key()).state()).isEqualTo(State.FAILED);
			assertThat(record(claim.key()).completedAt()).isNull();
			assertThat(record(claim.key()).failure()).isNull();
		});
		assertThat(own).extracting((claim) -> record(claim.key()).attempt()).containsExactly(0, 0, 1);
		assertThat(noteFailures(own)).containsOnly(Settlement.SETTLED);
		assertThat(own).extracting((claim) -> record(claim.key()).attempt()).containsExactly(1, 1, 2);
	}

	@Test
	@Tag("promise-3")
	default void completionOfAnotherOwnerIsNotUndone() {
		ClaimRequest other = Requests.request(Requests.newKey());
		commit(() -> one(store()).insert(other));
		IdempotencyRecord before = record(other.key());
		store().settleAfterTransaction(
				Endings.released(List.of(Requests.request(other.key()), Requests.request(Requests.newKey()))),
				List.of());
		assertUnchanged(other.key(), before);
	}

	@Test
	@Tag("promise-5")
	default void failuresAreNotedAndCompletionsUndoneInOneCall() {
		ClaimRequest failed = Requests.request(Requests.newKey());
		ClaimRequest undone = Requests.request(Requests.newKey());
		ClaimRequest other = Requests.request(Requests.newKey());
		commit(() -> one(store()).insert(undone));
		commit(() -> one(store()).insert(other));
		IdempotencyRecord before = record(other.key());
		List<Ending> endings = List.of(new Ending.Failed(failed, Requests.FAILURE), new Ending.Released(undone),
				new Ending.Failed(Requests.request(other.key()), Requests.FAILURE));
		assertThat(store().settleAfterTransaction(endings, List.of())).containsExactly(Settlement.SETTLED,
				Settlement.SETTLED, Settlement.LOST);
		assertThat(record(failed.key()).failure()).isEqualTo(Requests.FAILURE);
		assertThat(record(undone.key()).state()).isEqualTo(State.FAILED);
		assertThat(record(undone.key()).failure()).isNull();
		assertUnchanged(other.key(), before);
	}

	// An error at the commit may have left the completion.
	@Test
	@Tag("promise-3")
	default void failureIsNotNotedForTheCompletionOfTheSameRequest() {
		ClaimRequest own = Requests.request(Requests.newKey());
		commit(() -> one(store()).insert(own));
		IdempotencyRecord before = record(own.key());
		assertThat(noteFailures(List.of(own))).containsExactly(Settlement.LOST);
		assertUnchanged(own.key(), before);
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-5")
	default void repeatedClaimInATransactionKeepsItsFenceAndItsAttempt(boolean joined) {
		ClaimRequest own = Requests.request(Requests.newKey());
		note(own.key());
		Claim claim = commit(() -> store().claimInTransaction(List.of(own), joined).get(0));
		assertThat(commit(() -> store().claimInTransaction(List.of(own), joined).get(0))).isEqualTo(claim);
		assertThat(commit(() -> store().claimInTransaction(List.of(own), joined))).containsExactly(claim);
	}

	private Settlement note(IdempotencyKey key) {
		return noteFailures(List.of(Requests.request(key))).get(0);
	}

}
