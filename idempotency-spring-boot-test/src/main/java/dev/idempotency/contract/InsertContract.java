/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.IdempotencyRecord.State;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Inserts in the transaction of the handler's own writes.
 */
interface InsertContract extends TransactionContract {

	@Test
	@Tag("promise-5")
	default void insertedRecordIsCompletedAfterTheCommit() {
		IdempotencyKey key = Requests.newKey();
		assertThat(commit(() -> insert(key))).hasValueSatisfying((claim) -> assertThat(claim.attempt()).isOne());
		assertThat(record(key).state()).isEqualTo(State.COMPLETED);
		assertThat(record(key).completedAt()).isCloseTo(record(key).createdAt(), FindContract.CLOSE);
		assertThat(one(store()).claim(Requests.request(key))).isEqualTo(new Claim.Completed(null));
	}

	@Test
	@Tag("promise-5")
	default void insertedRecordIsInvisibleToOthersBeforeTheCommit() {
		IdempotencyKey key = Requests.newKey();
		commit(() -> {
			insert(key);
			elsewhere(() -> assertThat(one(store()).find(key)).isEmpty());
			return null;
		});
	}

	@Test
	@Tag("promise-5")
	default void insertedRecordDoesNotExistAfterARollback() {
		IdempotencyKey key = Requests.newKey();
		rollBack(() -> insert(key));
		assertThat(one(store()).find(key)).isEmpty();
		assertThat(commit(() -> insert(key))).isPresent();
	}

	@Test
	@Tag("promise-3")
	default void insertOfACompletedKeyAcquiresNothing() {
		IdempotencyKey key = Requests.newKey();
		commit(() -> insert(key));
		rollBack(() -> assertThat(insert(key)).isEmpty());
	}

	@Test
	@Tag("promise-2")
	default void insertOfALiveKeyAcquiresNothing() {
		IdempotencyKey key = Requests.newKey();
		Known.LIVE.reach(this, key);
		rollBack(() -> assertThat(insert(key)).isEmpty());
	}

	@Test
	@Tag("promise-2")
	default void insertWaitsForAnotherTransactionAndAcquiresNothingAfterItsCommit() {
		IdempotencyKey key = Requests.newKey();
		List<CompletableFuture<Optional<Claim.Acquired>>> second = new ArrayList<>();
		commit(() -> {
			insert(key);
			second.add(CompletableFuture.supplyAsync(() -> insertOrInProgress(key)));
			return null;
		});
		assertThat(second.get(0)).succeedsWithin(30, TimeUnit.SECONDS).isEqualTo(Optional.empty());
	}

	@Test
	@Tag("promise-2")
	default void insertEndsInTimeWhileAnotherTransactionHoldsTheKey() {
		IdempotencyKey key = Requests.newKey();
		rollBack(() -> {
			insert(key);
			CompletableFuture<Optional<Claim.Acquired>> second = CompletableFuture
				.supplyAsync(() -> insertOrInProgress(key));
			await().until(second::isDone);
			assertThat(second).isCompletedWithValue(Optional.empty());
		});
	}

	@Test
	@Tag("promise-2")
	@Tag("promise-5")
	default void oneOfManyTransactionsInserts() throws Exception {
		for (int round = 0; round < 10; round++) {
			IdempotencyKey key = Requests.newKey();
			assertThat(Crowd.of(() -> insertOrInProgress(key))).filteredOn(Optional::isPresent).hasSize(1);
		}
	}

	private Optional<Claim.Acquired> insertOrInProgress(IdempotencyKey key) {
		try {
			return commit(() -> insert(key));
		}
		catch (OperationInProgressException ex) {
			return Optional.empty();
		}
	}

}
