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
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.transaction.UnexpectedRollbackException;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Claims in a transaction of the template or of its caller.
 */
interface TransactionClaimContract extends TransactionContract {

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-5")
	default void keyThatIsClaimedInATransactionIsCompletedAfterTheCommit(boolean joined) {
		IdempotencyKey key = Requests.newKey();
		assertThat(commit(() -> claim(key, joined))).isInstanceOf(Claim.Acquired.class);
		assertThat(record(key).state()).isEqualTo(State.COMPLETED);
		assertThat(record(key).completedAt()).isNotNull();
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-5")
	default void failedKeyIsClaimedInATransactionForTheNextAttempt(boolean joined) {
		IdempotencyKey key = Requests.newKey();
		Known.FAILED.reach(this, key);
		int fence = record(key).fence();
		assertThat(commit(() -> claim(key, joined))).isInstanceOfSatisfying(Claim.Acquired.class, (claim) -> {
			assertThat(claim.attempt()).isEqualTo(2);
			assertThat(claim.fence()).isGreaterThan(fence);
		});
		assertThat(record(key).state()).isEqualTo(State.COMPLETED);
		assertThat(record(key).completedAt()).isNotNull();
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-5")
	default void claimInATransactionLeavesNoRecordAfterARollback(boolean joined) {
		IdempotencyKey key = Requests.newKey();
		Known.FAILED.reach(this, key);
		IdempotencyRecord before = record(key);
		rollBack(() -> claim(key, joined));
		assertUnchanged(key, before);
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-3")
	default void claimOfACompletedKeyInATransactionReturnsItsResult(boolean joined) {
		IdempotencyKey key = Requests.newKey();
		Known.COMPLETED.reach(this, key);
		assertThat(commit(() -> claim(key, joined))).isInstanceOf(Claim.Completed.class);
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-2")
	default void claimOfALiveKeyInATransactionIsInProgress(boolean joined) {
		IdempotencyKey key = Requests.newKey();
		Known.LIVE.reach(this, key);
		IdempotencyRecord before = record(key);
		assertThat(commit(() -> claim(key, joined))).isInstanceOf(Claim.InProgress.class);
		assertUnchanged(key, before);
	}

	@ParameterizedTest
	@CsvSource({ "LIVE,true", "LIVE,false", "COMPLETED,true", "COMPLETED,false" })
	@Tag("promise-9")
	default void otherContentIsAMismatchInATransaction(Known known, boolean joined) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this, key, "a");
		ClaimRequest other = Requests.request(key, "b", Requests.LEASE, Requests.RETENTION);
		assertThat(commit(() -> store().claimInTransaction(List.of(other), joined).get(0)))
			.isEqualTo(new Claim.Mismatch());
	}

	@ParameterizedTest
	@CsvSource({ "FAILED,true", "FAILED,false", "EXPIRED,true", "RELEASED,false" })
	@Tag("promise-9")
	default void claimableKeyAcceptsOtherContentInATransaction(Known known, boolean joined) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this, key, "a");
		ClaimRequest other = Requests.request(key, "b", Requests.LEASE, Requests.RETENTION);
		assertThat(commit(() -> store().claimInTransaction(List.of(other), joined).get(0)))
			.isInstanceOf(Claim.Acquired.class);
		assertThat(one(store()).claim(Requests.request(key, "b", Requests.LEASE, Requests.RETENTION)))
			.isInstanceOf(Claim.Completed.class);
		assertThat(one(store()).claim(Requests.request(key, "a", Requests.LEASE, Requests.RETENTION)))
			.isEqualTo(new Claim.Mismatch());
	}

	@Test
	@Tag("promise-13")
	default void joinedTransactionCommitsAfterADuplicate() {
		IdempotencyKey key = Requests.newKey();
		IdempotencyKey other = Requests.newKey();
		Known.COMPLETED.reach(this, key);
		commit(() -> {
			claim(key, true);
			return claim(other, true);
		});
		assertThat(one(store()).find(other)).isPresent();
	}

	@Test
	@Tag("promise-8")
	default void storedResultIsReplayedAfterTheCommit() {
		ClaimRequest owner = Requests.request(Requests.newKey());
		commit(() -> {
			one(store()).insert(owner);
			store().storeResults(List.of(new Ending.Completed(owner, new byte[] { 5 })));
			return null;
		});
		assertThat(one(store()).claim(Requests.request(owner.key()))).isInstanceOfSatisfying(Claim.Completed.class,
				(claim) -> assertThat(claim.result()).containsExactly(5));
	}

	@Test
	@Tag("promise-5")
	@Tag("promise-8")
	default void storedResultDoesNotExistAfterARollback() {
		ClaimRequest owner = Requests.request(Requests.newKey());
		rollBack(() -> {
			one(store()).insert(owner);
			store().storeResults(List.of(new Ending.Completed(owner, new byte[] { 5 })));
		});
		assertThat(one(store()).claim(Requests.request(owner.key()))).isInstanceOf(Claim.Acquired.class);
	}

	// As after a rollback of the connection by the handler itself, and a claim of another
	// owner.
	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-5")
	default void resultIsNotStoredWithoutTheRecordOfItsClaim(boolean several) {
		ClaimRequest owner = Requests.request(Requests.newKey());
		ClaimRequest other = Requests.request(Requests.newKey());
		commit(() -> one(store()).insert(Requests.request(owner.key())));
		rollBack(() -> {
			one(store()).insert(other);
			assertThatExceptionOfType(UnexpectedRollbackException.class).isThrownBy(() -> {
				if (several) {
					store().storeResults(List.of(Batch.completion(other), Batch.completion(owner)));
				}
				else {
					store().storeResults(List.of(new Ending.Completed(owner, new byte[] { 5 })));
				}
			});
		});
	}

	private Claim claim(IdempotencyKey key, boolean joined) {
		return store().claimInTransaction(List.of(Requests.request(key)), joined).get(0);
	}

}
