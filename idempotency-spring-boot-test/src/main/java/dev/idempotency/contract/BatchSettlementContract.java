/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore.Settlement;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Settlements of several claims in one call. Each claim is settled independently.
 */
interface BatchSettlementContract extends StoreContract {

	@ParameterizedTest
	@EnumSource
	@Tag("promise-4")
	default void lostKeysOfABatchStayAndTheOthersAreSettled(Mutation mutation) {
		ClaimRequest zombie = Known.EXPIRED.reach(this, Requests.newKey());
		Known.LIVE.reach(this, zombie.key());
		ClaimRequest live = Known.LIVE.reach(this, Requests.newKey());
		ClaimRequest stranger = Requests.request(Known.LIVE.reach(this, Requests.newKey()).key());
		ClaimRequest late = Known.EXPIRED.reach(this, Requests.newKey());
		ClaimRequest absent = Requests.request(Requests.newKey());
		List<ClaimRequest> lost = List.of(zombie, stranger);
		List<IdempotencyRecord> before = lost.stream().map((claim) -> record(claim.key())).toList();
		List<ClaimRequest> batch = List.of(zombie, live, late, stranger, absent);
		assertThat(mutation.applyAll(store(), batch)).containsExactly(Settlement.LOST, Settlement.SETTLED,
				Settlement.SETTLED, Settlement.LOST, Settlement.FORGOTTEN);
		before.forEach((record) -> assertUnchanged(record.key(), record));
		assertThat(one(store()).find(absent.key())).isEmpty();
		assertIsDone(mutation, live);
		assertIsDone(mutation, late);
	}

	@ParameterizedTest
	@EnumSource
	@Tag("promise-2")
	@Tag("promise-4")
	default void claimsOfOneKeyInABatchAreSettledByTheirTokens(Mutation mutation) {
		ClaimRequest zombie = Known.EXPIRED.reach(this, Requests.newKey());
		ClaimRequest owner = Known.LIVE.reach(this, zombie.key());
		assertThat(mutation.applyAll(store(), List.of(zombie, owner))).containsExactly(Settlement.LOST,
				Settlement.SETTLED);
		ClaimRequest earlier = Known.EXPIRED.reach(this, Requests.newKey());
		ClaimRequest later = Known.LIVE.reach(this, earlier.key());
		assertThat(mutation.applyAll(store(), List.of(later, earlier))).containsExactly(Settlement.SETTLED,
				Settlement.LOST);
		if (mutation == Mutation.COMPLETE) {
			assertThat(((Claim.Completed) one(store()).claim(Requests.request(owner.key()))).result()).asString()
				.isEqualTo(owner.token().toString());
		}
	}

	private void assertIsDone(Mutation mutation, ClaimRequest owner) {
		IdempotencyRecord record = record(owner.key());
		Failure failure = (mutation == Mutation.FAIL) ? Requests.FAILURE : null;
		assertThat(record.state()).isEqualTo(switch (mutation) {
			case COMPLETE -> State.COMPLETED;
			case FAIL, RELEASE -> State.FAILED;
			case RENEW -> State.IN_PROGRESS;
		});
		assertThat(record.failure()).isEqualTo(failure);
		assertThat(record.completedAt() != null).isEqualTo(mutation == Mutation.COMPLETE);
		assertThat(record.attempt()).isEqualTo((mutation == Mutation.RELEASE) ? 0 : 1);
	}

	@Test
	@Tag("promise-8")
	default void eachCompletionOfABatchHasItsOwnResult() {
		List<byte[]> results = new ArrayList<>(List.of(new byte[] { 1, 0, -1 }, new byte[0], new byte[65536]));
		results.add(1, null);
		List<Ending.Completed> completions = results.stream()
			.map((result) -> new Ending.Completed(Known.LIVE.reach(this, Requests.newKey()), result))
			.toList();
		store().settle(List.copyOf(completions));
		assertThat(completions).allSatisfy((completion) -> {
			Claim claim = one(store()).claim(Requests.request(completion.claim().key()));
			assertThat(claim).isInstanceOf(Claim.Completed.class);
			assertThat(((Claim.Completed) claim).result()).isEqualTo(completion.result());
		});
	}

	@Test
	default void releasedKeysOfABatchCountNoAttemptAndFailedKeysDo() {
		ClaimRequest failed = Known.LIVE.reach(this, Requests.newKey());
		ClaimRequest released = Known.LIVE.reach(this, Requests.newKey());
		store().settle(Endings.failed(List.of(failed), Requests.FAILURE));
		store().settle(Endings.released(List.of(released)));
		assertThat(Requests.acquire(store(), Requests.request(failed.key())).attempt()).isEqualTo(2);
		assertThat(Requests.acquire(store(), Requests.request(released.key())).attempt()).isOne();
	}

	@Test
	default void failureWithoutMessageIsStoredForABatch() {
		ClaimRequest owner = Known.LIVE.reach(this, Requests.newKey());
		Failure failure = new Failure("com.example.Silent", null);
		store().settle(Endings.failed(List.of(owner), failure));
		assertThat(record(owner.key()).failure()).isEqualTo(failure);
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "RENEW")
	default void repeatedSettlementsOfABatchAreSettledAndChangeNothing(Mutation mutation) {
		ClaimRequest owner = Known.LIVE.reach(this, Requests.newKey());
		ClaimRequest later = Known.LIVE.reach(this, Requests.newKey());
		mutation.apply(store(), owner);
		IdempotencyRecord before = record(owner.key());
		assertThat(mutation.applyAll(store(), List.of(later, owner))).containsOnly(Settlement.SETTLED);
		assertUnchanged(owner.key(), before);
		assertThat(mutation.applyAll(store(), List.of(later, owner))).containsOnly(Settlement.SETTLED);
		assertUnchanged(owner.key(), before);
	}

	@Test
	@Tag("promise-3")
	default void repeatedCompletionsOfABatchKeepTheFirstResults() {
		ClaimRequest owner = Known.LIVE.reach(this, Requests.newKey());
		store().settle(List.of(new Ending.Completed(owner, new byte[] { 1 })));
		store().settle(List.of(new Ending.Completed(owner, new byte[] { 2 })));
		assertThat(one(store()).claim(owner)).isInstanceOfSatisfying(Claim.Completed.class,
				(claim) -> assertThat(claim.result()).containsExactly(1));
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "RENEW")
	@Tag("promise-4")
	default void endingsOfDifferentKindsAreSettledInOneCall(Mutation lost) {
		ClaimRequest zombie = Known.EXPIRED.reach(this, Requests.newKey());
		Known.LIVE.reach(this, zombie.key());
		IdempotencyRecord before = record(zombie.key());
		ClaimRequest completed = Known.LIVE.reach(this, Requests.newKey());
		ClaimRequest failed = Known.LIVE.reach(this, Requests.newKey());
		ClaimRequest silent = Known.LIVE.reach(this, Requests.newKey());
		ClaimRequest released = Known.LIVE.reach(this, Requests.newKey());
		ClaimRequest late = Known.EXPIRED.reach(this, Requests.newKey());
		Failure withoutMessage = new Failure("com.example.Silent", null);
		List<Ending> endings = List.of(new Ending.Completed(completed, new byte[] { 1 }),
				new Ending.Failed(failed, Requests.FAILURE), lost.ending(zombie), new Ending.Released(released),
				new Ending.Failed(silent, withoutMessage), new Ending.Released(Requests.request(Requests.newKey())),
				new Ending.Completed(late, null));
		for (int call = 0; call < 2; call++) {
			assertThat(store().settle(endings)).containsExactly(Settlement.SETTLED, Settlement.SETTLED, Settlement.LOST,
					Settlement.SETTLED, Settlement.SETTLED, Settlement.FORGOTTEN, Settlement.SETTLED);
			assertUnchanged(zombie.key(), before);
			assertIsDone(Mutation.COMPLETE, completed);
			assertIsDone(Mutation.FAIL, failed);
			assertIsDone(Mutation.RELEASE, released);
			assertIsDone(Mutation.COMPLETE, late);
			assertThat(record(silent.key()).failure()).isEqualTo(withoutMessage);
		}
		assertThat(one(store()).claim(Requests.request(completed.key()))).isInstanceOfSatisfying(Claim.Completed.class,
				(claim) -> assertThat(claim.result()).containsExactly(1));
		assertThat(one(store()).claim(Requests.request(late.key()))).isInstanceOfSatisfying(Claim.Completed.class,
				(claim) -> assertThat(claim.result()).isNull());
	}

	@ParameterizedTest
	@EnumSource
	default void emptyBatchOfSettlementsReturnsNoOutcome(Mutation mutation) {
		assertThat(mutation.applyAll(store(), Collections.emptyList())).isEmpty();
	}

}
