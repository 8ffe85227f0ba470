/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.nio.charset.StandardCharsets;
import java.time.Duration;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore.CompletionAndClaim;
import dev.idempotency.store.IdempotencyStore.Settlement;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Completions that claim the key of another operation in the same call.
 */
interface ClaimAheadContract extends StoreContract {

	/**
	 * The result of the first operation.
	 */
	byte[] RESULT = "result".getBytes(StandardCharsets.UTF_8);

	private ClaimRequest owner() {
		ClaimRequest owner = Requests.request(Requests.newKey());
		Requests.acquire(store(), owner);
		return owner;
	}

	private CompletionAndClaim complete(ClaimRequest owner, ClaimRequest next) {
		return store().completeAndClaim(new Ending.Completed(owner, RESULT), next);
	}

	@Test
	default void completionIsRecordedAndTheNextKeyIsClaimed() {
		ClaimRequest owner = owner();
		ClaimRequest next = Requests.request(Requests.newKey());
		assertThat(complete(owner, next))
			.isEqualTo(new CompletionAndClaim(Settlement.SETTLED, new Claim.Acquired(1, 1)));
		assertThat(one(store()).claim(Requests.request(owner.key()))).isInstanceOfSatisfying(Claim.Completed.class,
				(completed) -> assertThat(completed.result()).isEqualTo(RESULT));
		assertThat(record(owner.key()).completedAt()).isNotNull();
		assertThat(record(next.key()).state()).isEqualTo(State.IN_PROGRESS);
		assertThat(Duration.between(record(next.key()).createdAt(), record(next.key()).claimedUntil()))
			.isBetween(Requests.LEASE.minus(precision()), Requests.LEASE.plus(precision()).plusSeconds(1));
		assertThat(one(store()).complete(next, null)).isEqualTo(Settlement.SETTLED);
	}

	@Test
	default void claimAheadMayBeReleasedWithoutAnAttempt() {
		ClaimRequest next = Requests.request(Requests.newKey());
		complete(owner(), next);
		assertThat(one(store()).release(next)).isEqualTo(Settlement.SETTLED);
		assertThat(one(store()).claim(Requests.request(next.key()))).isEqualTo(new Claim.Acquired(2, 1));
	}

	@Test
	default void claimAheadIsRenewedAndRestoredLikeAnyOther() {
		ClaimRequest next = Requests.request(Requests.newKey());
		Claim claim = complete(owner(), next).claim();
		assertThat(one(store()).renew(next)).isEqualTo(Settlement.SETTLED);
		assertThat(store().restore(next, (Claim.Acquired) claim)).isEqualTo(Settlement.SETTLED);
	}

	@Test
	@Tag("promise-3")
	default void claimAheadOfACompletedKeyReturnsItsResult() {
		ClaimRequest first = owner();
		one(store()).complete(first, RESULT);
		CompletionAndClaim answer = complete(owner(), Requests.request(first.key()));
		assertThat(answer.settlement()).isEqualTo(Settlement.SETTLED);
		assertThat(answer.claim()).isInstanceOfSatisfying(Claim.Completed.class,
				(completed) -> assertThat(completed.result()).isEqualTo(RESULT));
	}

	@Test
	@Tag("promise-2")
	default void claimAheadLeavesALiveClaimOfAnotherOwner() {
		ClaimRequest other = owner();
		IdempotencyRecord before = record(other.key());
		CompletionAndClaim answer = complete(owner(), Requests.request(other.key()));
		assertThat(answer.settlement()).isEqualTo(Settlement.SETTLED);
		assertThat(answer.claim()).isInstanceOfSatisfying(Claim.InProgress.class,
				(held) -> assertThat(held.retryAfter()).isPositive().isLessThanOrEqualTo(Requests.LEASE));
		assertUnchanged(other.key(), before);
	}

	@ParameterizedTest
	@EnumSource(names = { "EXPIRED", "FAILED" })
	default void claimAheadTakesAFreeKeyOver(Known free) {
		IdempotencyKey key = Requests.newKey();
		free.reach(this, key);
		assertThat(complete(owner(), Requests.request(key)).claim()).isEqualTo(new Claim.Acquired(2, 2));
	}

	@Test
	@Tag("promise-9")
	default void claimAheadComparesTheFingerprint() {
		ClaimRequest first = Requests.request(Requests.newKey(), "a", Requests.LEASE, Requests.RETENTION);
		Requests.acquire(store(), first);
		one(store()).complete(first, RESULT);
		ClaimRequest reused = Requests.request(first.key(), "b", Requests.LEASE, Requests.RETENTION);
		CompletionAndClaim answer = complete(owner(), reused);
		assertThat(answer).isEqualTo(new CompletionAndClaim(Settlement.SETTLED, new Claim.Mismatch()));
	}

	@Test
	default void repeatedCompletionMayClaim() {
		ClaimRequest owner = owner();
		one(store()).complete(owner, RESULT);
		IdempotencyRecord before = record(owner.key());
		ClaimRequest next = Requests.request(Requests.newKey());
		assertThat(complete(owner, next))
			.isEqualTo(new CompletionAndClaim(Settlement.SETTLED, new Claim.Acquired(1, 1)));
		assertUnchanged(owner.key(), before);
		assertThat(complete(owner, next))
			.isEqualTo(new CompletionAndClaim(Settlement.SETTLED, new Claim.Acquired(1, 1)));
	}

	@Test
	@Tag("promise-4")
	default void ownerThatHasLostItsKeyCompletesNothing() {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest zombie = Known.EXPIRED.reach(this, key);
		Known.LIVE.reach(this, key);
		IdempotencyRecord before = record(key);
		ClaimRequest next = Requests.request(Requests.newKey());
		assertThat(complete(zombie, next).settlement()).isEqualTo(Settlement.LOST);
		assertUnchanged(key, before);
	}

	@Test
	default void completionOfAForgottenKeyIsReported() {
		ClaimRequest forgotten = Requests.request(Requests.newKey());
		assertThat(complete(forgotten, Requests.request(Requests.newKey())).settlement())
			.isEqualTo(Settlement.FORGOTTEN);
		assertThat(one(store()).find(forgotten.key())).isEmpty();
	}

}
