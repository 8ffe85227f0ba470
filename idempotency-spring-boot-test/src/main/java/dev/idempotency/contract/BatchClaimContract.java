/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore.Settlement;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Claims of several keys in one call. Each key is claimed as by a single claim.
 */
interface BatchClaimContract extends StoreContract {

	@Test
	@Tag("promise-2")
	@Tag("promise-3")
	@Tag("promise-9")
	default void claimsOfABatchReturnTheirAnswersInOrder() {
		ClaimRequest expired = Requests.request(Requests.newKey(), lease(), retention());
		one(store()).claim(expired);
		one(store()).complete(expired, null);
		letPass(retention());
		Batch batch = new Batch(this);
		ClaimRequest first = batch.completed(null);
		List<ClaimRequest> requests = List.of(batch.absent(), batch.known(first), batch.known(Known.LIVE),
				batch.known(Known.FAILED), batch.known(batch.completed("a"), "b"), batch.absent(),
				batch.known(Known.EXPIRED), batch.known(expired), batch.known(Known.RELEASED),
				batch.known(batch.completed("a"), "a"), batch.known(Known.LIVE),
				batch.knownWithOtherContent(Known.LIVE), batch.knownWithOtherContent(Known.FAILED),
				batch.knownWithOtherContent(Known.EXPIRED));
		List<String> answers = store().claim(requests).stream().map(Batch::describe).toList();
		assertThat(answers).containsExactly("attempt 1", "completed with " + first.token(), "in progress", "attempt 2",
				"mismatch", "attempt 1", "attempt 2", "attempt 1", "attempt 1",
				"completed with " + requests.get(9).key().value(), "in progress", "mismatch", "attempt 2", "attempt 2");
	}

	@Test
	@Tag("promise-4")
	default void takeOversInABatchHaveLargerFences() {
		Batch batch = new Batch(this);
		List<ClaimRequest> requests = List.of(batch.known(Known.FAILED), batch.known(Known.EXPIRED),
				batch.known(Known.RELEASED));
		List<Integer> before = requests.stream().map((request) -> record(request.key()).fence()).toList();
		List<Claim> claims = store().claim(requests);
		for (int i = 0; i < before.size(); i++) {
			int fence = before.get(i);
			assertThat(claims.get(i)).isInstanceOfSatisfying(Claim.Acquired.class,
					(claim) -> assertThat(claim.fence()).isGreaterThan(fence));
		}
	}

	@Test
	default void liveKeyInABatchReturnsItsRemainingLeaseAndStays() {
		ClaimRequest live = new Batch(this).known(Known.LIVE);
		IdempotencyRecord before = record(live.key());
		assertThat(store().claim(List.of(Requests.request(Requests.newKey()), live)).get(1))
			.isInstanceOfSatisfying(Claim.InProgress.class, (claim) -> assertThat(claim.retryAfter())
				.isBetween(Requests.LEASE.dividedBy(2), Requests.LEASE.plus(precision())));
		assertUnchanged(live.key(), before);
	}

	@Test
	default void eachClaimOfABatchHasItsOwnTimes() {
		ClaimRequest brief = Requests.request(Requests.newKey(), Requests.LEASE, Requests.RETENTION);
		ClaimRequest extended = Requests.request(Requests.newKey(), Requests.LEASE.multipliedBy(2),
				Requests.RETENTION.multipliedBy(2));
		store().claim(List.of(extended, brief));
		assertThat(Duration.between(record(brief.key()).claimedUntil(), record(extended.key()).claimedUntil()))
			.isBetween(Requests.LEASE.dividedBy(2), Requests.LEASE.multipliedBy(2));
		assertThat(Duration.between(record(brief.key()).expiresAt(), record(extended.key()).expiresAt()))
			.isBetween(Requests.RETENTION.dividedBy(2), Requests.RETENTION.multipliedBy(2));
	}

	@Test
	@Tag("promise-9")
	default void eachClaimOfABatchHasItsOwnContent() {
		List<IdempotencyKey> keys = Stream.generate(Requests::newKey).limit(3).toList();
		store().claim(
				List.of(withContent(keys.get(0), "a"), Requests.request(keys.get(1)), withContent(keys.get(2), "c")));
		assertThat(keys.stream().map((key) -> Batch.describe(one(store()).claim(withContent(key, "a")))))
			.containsExactly("in progress", "in progress", "mismatch");
	}

	@Test
	default void repeatedBatchOfClaimsReturnsTheFirstAnswers() {
		Batch batch = new Batch(this);
		List<ClaimRequest> requests = List.of(batch.absent(), batch.known(Known.FAILED), batch.absent());
		List<Claim> first = store().claim(requests);
		assertThat(first).allMatch(Requests::isAcquired);
		assertThat(store().claim(requests)).isEqualTo(first);
		assertThat(requests)
			.allSatisfy((request) -> assertThat(one(store()).complete(request, null)).isEqualTo(Settlement.SETTLED));
	}

	@Test
	default void emptyBatchOfClaimsReturnsNoAnswer() {
		assertThat(store().claim(List.of())).isEmpty();
	}

	@Test
	@Tag("promise-3")
	@Tag("promise-8")
	default void manyKeysAreClaimedAndCompletedEachWithItsOwnResult() {
		List<ClaimRequest> owners = Stream.generate(() -> Requests.request(Requests.newKey())).limit(500).toList();
		assertThat(store().claim(owners)).hasSize(500).allMatch(Requests::isAcquired);
		assertThat(store().settle(owners.stream().<Ending>map(Batch::completion).toList())).hasSize(500)
			.containsOnly(Settlement.SETTLED);
		List<ClaimRequest> others = new ArrayList<>(
				owners.stream().map((owner) -> Requests.request(owner.key())).toList());
		Collections.shuffle(others);
		assertThat(store().claim(others).stream().map(Batch::describe).toList())
			.isEqualTo(others.stream().map((other) -> "completed with " + other.key().value()).toList());
	}

	@Test
	@Tag("promise-2")
	default void eachKeyOfOverlappingBatchesHasOneOwner() throws Exception {
		for (int round = 0; round < 10; round++) {
			List<IdempotencyKey> keys = Stream.generate(Requests::newKey).limit(40).toList();
			AtomicInteger turn = new AtomicInteger();
			List<List<Claim>> answers = Crowd.of(() -> claimAll(keys, turn.getAndIncrement() % 2 == 1));
			for (int i = 0; i < keys.size(); i++) {
				int index = i;
				assertThat(answers).extracting((claims) -> claims.get(index))
					.filteredOn(Requests::isAcquired)
					.as("Owners of one key")
					.hasSize(1);
			}
		}
	}

	// The answers in the order of the keys, for any order of the requests.
	private List<Claim> claimAll(List<IdempotencyKey> keys, boolean backwards) {
		List<ClaimRequest> requests = new ArrayList<>(keys.stream().map(Requests::request).toList());
		if (backwards) {
			Collections.reverse(requests);
		}
		List<Claim> claims = new ArrayList<>(store().claim(requests));
		if (backwards) {
			Collections.reverse(claims);
		}
		return claims;
	}

	private static ClaimRequest withContent(IdempotencyKey key, String content) {
		return Requests.request(key, content, Requests.LEASE, Requests.RETENTION);
	}

}
