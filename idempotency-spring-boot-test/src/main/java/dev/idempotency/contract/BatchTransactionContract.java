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
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore.Settlement;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Claims of several keys in one transaction. Each key is claimed as by a single claim.
 */
interface BatchTransactionContract extends TransactionContract {

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-5")
	default void batchInATransactionReturnsItsAnswersInOrderAndIsCompletedAfterTheCommit(boolean joined) {
		Batch batch = new Batch(this);
		ClaimRequest first = batch.completed(null);
		List<ClaimRequest> requests = List.of(batch.absent(), batch.known(first), batch.known(Known.FAILED),
				batch.known(Known.LIVE), batch.known(batch.completed("a"), "b"), batch.absent(),
				batch.known(Known.EXPIRED), batch.knownWithOtherContent(Known.FAILED));
		List<Claim> claims = commit(() -> store().claimInTransaction(requests, joined));
		assertThat(claims.stream().map(Batch::describe)).containsExactly("attempt 1", "completed with " + first.token(),
				"attempt 2", "in progress", "mismatch", "attempt 1", "attempt 2", "attempt 2");
		assertThat(requests.stream().map((request) -> record(request.key()).state())).containsExactly(State.COMPLETED,
				State.COMPLETED, State.COMPLETED, State.IN_PROGRESS, State.COMPLETED, State.COMPLETED, State.COMPLETED,
				State.COMPLETED);
		assertThat(requests.stream().map((request) -> record(request.key())))
			.allMatch((record) -> (record.completedAt() != null) == (record.state() == State.COMPLETED));
	}

	@Test
	@Tag("promise-5")
	default void insertsOfABatchReturnTheirAnswersInOrderAndAreCompletedAfterTheCommit() {
		Batch batch = new Batch(this);
		ClaimRequest first = batch.completed(null);
		List<ClaimRequest> requests = List.of(batch.absent(), batch.known(first), batch.known(Known.LIVE),
				batch.known(batch.completed("a"), "b"), batch.absent());
		List<Optional<Claim>> claims = commit(() -> store().insert(requests));
		assertThat(claims.stream().map((claim) -> Batch.describe(claim.orElseThrow()))).containsExactly("attempt 1",
				"completed with " + first.token(), "in progress", "mismatch", "attempt 1");
		assertThat(requests.stream().map((request) -> record(request.key()).state())).containsExactly(State.COMPLETED,
				State.COMPLETED, State.IN_PROGRESS, State.COMPLETED, State.COMPLETED);
	}

	@ParameterizedTest
	@EnumSource(names = { "FAILED", "EXPIRED" })
	@Tag("promise-4")
	default void insertsOfABatchClaimAFreeRecordOrLeaveIt(Known known) {
		Batch batch = new Batch(this);
		List<ClaimRequest> requests = List.of(batch.absent(), batch.known(known));
		rollBack(() -> {
			List<Optional<Claim>> claims = store().insert(requests);
			assertThat(claims.get(0)).isPresent();
			assertThat(claims.get(1)).satisfiesAnyOf((claim) -> assertThat(claim).isEmpty(),
					(claim) -> assertThat(Batch.describe(claim.orElseThrow())).isEqualTo("attempt 2"));
		});
		assertThat(commit(() -> store().claimInTransaction(requests, false)).stream().map(Batch::describe))
			.containsExactly("attempt 1", "attempt 2");
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-5")
	default void batchInATransactionLeavesNoRecordAfterARollback(boolean joined) {
		Batch batch = new Batch(this);
		ClaimRequest absent = batch.absent();
		ClaimRequest failed = batch.known(Known.FAILED);
		IdempotencyRecord before = record(failed.key());
		rollBack(() -> assertThat(store().claimInTransaction(List.of(failed, absent), joined))
			.allMatch(Requests::isAcquired));
		assertThat(one(store()).find(absent.key())).isEmpty();
		assertUnchanged(failed.key(), before);
	}

	@Test
	@Tag("promise-5")
	default void batchInATransactionIsInvisibleToOthersBeforeTheCommit() {
		ClaimRequest absent = Requests.request(Requests.newKey());
		commit(() -> {
			store().claimInTransaction(List.of(absent), false);
			elsewhere(() -> assertThat(one(store()).find(absent.key())).isEmpty());
			return null;
		});
	}

	@Test
	@Tag("promise-8")
	default void storedResultsOfABatchAreReplayedAfterTheCommit() {
		List<ClaimRequest> owners = newRequests(4);
		List<Ending.Completed> completions = List.of(new Ending.Completed(owners.get(0), new byte[] { 1 }),
				new Ending.Completed(owners.get(2), new byte[0]),
				new Ending.Completed(owners.get(3), new byte[] { 3, 0 }));
		commit(() -> {
			store().claimInTransaction(owners, false);
			store().storeResults(completions);
			return null;
		});
		assertThat(one(store()).claim(Requests.request(owners.get(1).key()))).isEqualTo(new Claim.Completed(null));
		assertThat(completions).allSatisfy((completion) -> assertThat(
				((Claim.Completed) one(store()).claim(Requests.request(completion.claim().key()))).result())
			.isEqualTo(completion.result()));
	}

	@Test
	@Tag("promise-5")
	default void storedResultsOfABatchAreGoneAfterARollback() {
		List<ClaimRequest> owners = newRequests(2);
		rollBack(() -> {
			store().claimInTransaction(owners, false);
			store().storeResults(owners.stream().map(Batch::completion).toList());
		});
		assertThat(store().claim(owners)).allMatch(Requests::isAcquired);
	}

	@Test
	default void emptyBatchesInATransactionReturnNothing() {
		commit(() -> {
			assertThat(store().claimInTransaction(List.of(), false)).isEmpty();
			assertThat(store().claimInTransaction(List.of(), true)).isEmpty();
			store().storeResults(List.of());
			return null;
		});
		assertThat(noteFailures(List.of())).isEmpty();
	}

	@Test
	@Tag("promise-2")
	@Tag("promise-13")
	default void batchEndsWhileAnotherTransactionHoldsAKeyAndAJoinedTransactionSurvives() {
		List<ClaimRequest> requests = newRequests(3);
		ClaimRequest other = Requests.request(Requests.newKey());
		commit(() -> {
			insert(requests.get(1).key());
			elsewhere(() -> assertThatExceptionOfType(OperationInProgressException.class)
				.isThrownBy(() -> rollBack(() -> store().claimInTransaction(requests, false))));
			elsewhere(() -> commit(() -> {
				assertThatExceptionOfType(OperationInProgressException.class)
					.isThrownBy(() -> store().claimInTransaction(requests, true));
				return store().claimInTransaction(List.of(other), true);
			}));
			return null;
		});
		assertThat(record(other.key()).state()).isEqualTo(State.COMPLETED);
	}

	@Test
	@Tag("promise-2")
	@Tag("promise-5")
	default void eachKeyOfOverlappingTransactionsIsClaimedOnce() throws Exception {
		for (int round = 0; round < 5; round++) {
			List<IdempotencyKey> keys = Stream.generate(Requests::newKey).limit(20).toList();
			AtomicInteger turn = new AtomicInteger();
			List<Long> acquired = Crowd.of(() -> acquired(keys, turn.getAndIncrement() % 2 == 1));
			assertThat(acquired.stream().mapToLong(Long::longValue).sum()).isEqualTo(keys.size());
		}
	}

	private long acquired(List<IdempotencyKey> keys, boolean backwards) {
		List<ClaimRequest> requests = new ArrayList<>(keys.stream().map(Requests::request).toList());
		if (backwards) {
			Collections.reverse(requests);
		}
		Supplier<List<Claim>> claims = () -> store().claimInTransaction(requests, false);
		return commit(claims).stream().filter(Requests::isAcquired).count();
	}

	@Test
	@Tag("promise-3")
	@Tag("promise-5")
	default void failuresOfABatchAreRecordedForClaimableKeys() {
		Batch batch = new Batch(this);
		List<ClaimRequest> claims = List.of(batch.known(Known.LIVE), batch.absent(), batch.known(Known.COMPLETED),
				batch.known(Known.FAILED), batch.known(Known.EXPIRED));
		assertThat(noteFailures(claims)).containsExactly(Settlement.LOST, Settlement.SETTLED, Settlement.LOST,
				Settlement.SETTLED, Settlement.SETTLED);
		assertThat(claims.stream().map((claim) -> record(claim.key())))
			.extracting(IdempotencyRecord::state, IdempotencyRecord::attempt)
			.map(Object::toString)
			.containsExactly("(IN_PROGRESS, 1)", "(FAILED, 1)", "(COMPLETED, 1)", "(FAILED, 2)", "(FAILED, 2)");
		assertThat(record(claims.get(1).key()).failure()).isEqualTo(Requests.FAILURE);
	}

	@Test
	@Tag("promise-3")
	default void failuresOfABatchAreRecordedExceptForAKeyThatAnotherTransactionHolds() {
		List<ClaimRequest> claims = newRequests(3);
		commit(() -> {
			insert(claims.get(1).key());
			elsewhere(() -> assertThat(noteFailures(claims)).containsExactly(Settlement.SETTLED, Settlement.LOST,
					Settlement.SETTLED));
			return null;
		});
		assertThat(claims.stream().map((claim) -> record(claim.key()).state())).containsExactly(State.FAILED,
				State.COMPLETED, State.FAILED);
	}

	private static List<ClaimRequest> newRequests(int size) {
		return Stream.generate(() -> Requests.request(Requests.newKey())).limit(size).toList();
	}

}
