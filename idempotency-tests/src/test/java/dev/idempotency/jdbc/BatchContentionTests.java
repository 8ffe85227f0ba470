/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.contract.Endings;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for batches of {@link JdbcIdempotencyStore} that conflict with each other or with
 * an open transaction.
 */
@Tag("promise-2")
class BatchContentionTests {

	private static final Duration PATIENCE = Duration.ofSeconds(90);

	private static final Failure FAILURE = new Failure("x", null);

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private static JdbcIdempotencyStore store;

	private static TransactionTemplate transactions;

	private static JdbcTemplate inside;

	private final List<ClaimRequest> requests = Stream.generate(() -> TestDatabase.request(TestDatabase.newKey()))
		.limit(5)
		.toList();

	private final ClaimRequest held = this.requests.get(2);

	@BeforeAll
	static void createDatabase() {
		store = database.store();
		transactions = new TransactionTemplate(new JdbcTransactionManager(database.pool()));
		inside = new JdbcTemplate(database.pool());
	}

	// The timeout is so long that the server detects a deadlock before it.
	private static JdbcIdempotencyStore patientStore() {
		return new JdbcIdempotencyStore(database.pool(), TestDatabase.TABLE, PATIENCE);
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void batchesOfEightThreadsInRandomOrderDoNotDeadlock(boolean inTransaction) throws Exception {
		JdbcIdempotencyStore patient = patientStore();
		List<IdempotencyKey> keys = Stream.generate(TestDatabase::newKey).limit(200).toList();
		long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(2);
		Callable<Integer> claims = () -> {
			int done = 0;
			for (; System.nanoTime() < end; done++) {
				List<IdempotencyKey> shuffled = new ArrayList<>(keys);
				Collections.shuffle(shuffled);
				claimAndFree(patient, shuffled.subList(0, 100), inTransaction);
			}
			return done;
		};
		ExecutorService executor = Executors.newFixedThreadPool(8);
		for (Future<Integer> done : executor.invokeAll(Collections.nCopies(8, claims))) {
			assertThat(done.get()).isPositive();
		}
		executor.shutdown();
	}

	private static void claimAndFree(JdbcIdempotencyStore patient, List<IdempotencyKey> keys, boolean inTransaction) {
		List<ClaimRequest> batch = keys.stream().map(TestDatabase::request).toList();
		if (inTransaction) {
			transactions.executeWithoutResult((status) -> {
				patient.insert(batch);
				status.setRollbackOnly();
			});
			transactions.executeWithoutResult((status) -> {
				patient.claimInTransaction(batch, false);
				status.setRollbackOnly();
			});
			patient.settleAfterTransaction(Endings.failed(batch, FAILURE), List.of());
		}
		else {
			patient.claim(batch);
			patient.settle(Endings.failed(batch, FAILURE));
		}
	}

	@Test
	void batchThatConflictsWithAnOpenTransactionEndsInTimeAndClaimsNothing() {
		whileInserted(() -> {
			long start = System.nanoTime();
			assertThatExceptionOfType(OperationInProgressException.class).isThrownBy(() -> store.claim(this.requests))
				.withMessageContaining("55P03");
			assertThat(Duration.ofNanos(System.nanoTime() - start)).isBetween(TestDatabase.TIMEOUT.dividedBy(8),
					TestDatabase.TIMEOUT.multipliedBy(4));
			assertThat(one(store).find(this.requests.get(0).key())).isEmpty();
		});
		assertThat(store.claim(this.requests)).filteredOn(Claim.Acquired.class::isInstance).hasSize(4);
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-3")
	void batchThatWaitedForACompletionReturnsItAndAcquiresTheOtherKeys(boolean inTransaction) {
		JdbcIdempotencyStore patient = patientStore();
		CompletableFuture<List<Claim>> second = transactions.execute((status) -> {
			one(store).insert(TestDatabase.request(this.held.key()));
			CompletableFuture<List<Claim>> waiting = CompletableFuture.supplyAsync(() -> inTransaction
					? transactions.execute((other) -> patient.claimInTransaction(this.requests, false))
					: patient.claim(this.requests));
			await().pollInterval(Duration.ofMillis(5)).until(BatchContentionTests::sessionWaits);
			return waiting;
		});
		Claim acquired = new Claim.Acquired(1, 1);
		assertThat(second).succeedsWithin(PATIENCE)
			.isEqualTo(List.of(acquired, acquired, new Claim.Completed(null), acquired, acquired));
	}

	private static boolean sessionWaits() {
		return database.jdbc()
			.queryForObject("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
					+ "AND wait_event_type = 'Lock'", Long.class) > 0;
	}

	@Test
	@Tag("promise-13")
	void lockTimeoutOfTheTransactionIsRestoredAfterABatch() {
		transactions.executeWithoutResult((status) -> {
			inside.execute("SET LOCAL lock_timeout = '7s'");
			store.claim(this.requests.subList(0, 2));
			store.insert(this.requests);
			assertThat(inside.queryForObject("SHOW lock_timeout", String.class)).isEqualTo("7s");
			store.claimInTransaction(this.requests, false);
			assertThat(inside.queryForObject("SHOW lock_timeout", String.class)).isEqualTo("7s");
			store.claimInTransaction(this.requests.subList(0, 2), true);
			assertThat(inside.queryForObject("SHOW lock_timeout", String.class)).isEqualTo("7s");
		});
	}

	// The locked key comes last, after rows that were written.
	@Test
	void waitForTheLastRowOfABatchIsLimitedLikeTheFirst() {
		List<ClaimRequest> sorted = this.requests.stream()
			.sorted((left, right) -> left.key().id().toString().compareTo(right.key().id().toString()))
			.toList();
		transactions.executeWithoutResult((status) -> {
			one(store).insert(TestDatabase.request(sorted.get(4).key()));
			assertThat(CompletableFuture.supplyAsync(() -> transactions.execute((other) -> {
				inside.execute("SET LOCAL lock_timeout = '5s'");
				return store.claimInTransaction(this.requests, false);
			}))).failsWithin(4, TimeUnit.SECONDS)
				.withThrowableThat()
				.withCauseInstanceOf(OperationInProgressException.class);
		});
	}

	@Test
	void otherKeysAreCompletedWhileOneIsBeingTakenOver() {
		store.claim(this.requests);
		database.endLease(this.held.key());
		List<Ending> completions = Endings.completed(this.requests, null);
		transactions.executeWithoutResult((status) -> {
			store.claimInTransaction(List.of(TestDatabase.request(this.held.key())), false).get(0);
			assertThat(CompletableFuture.supplyAsync(() -> store.settle(completions))).failsWithin(5, TimeUnit.SECONDS)
				.withThrowableThat()
				.withCauseInstanceOf(OperationInProgressException.class);
			assertThat(database.record(this.requests.get(0).key()).state()).isEqualTo(State.COMPLETED);
			assertThat(database.record(this.requests.get(4).key()).state()).isEqualTo(State.COMPLETED);
		});
		assertThat(store.settle(completions)).containsExactly(Settlement.SETTLED, Settlement.SETTLED, Settlement.LOST,
				Settlement.SETTLED, Settlement.SETTLED);
	}

	@Test
	void claimsThatEndInAnotherWayAreSettledWhileOneIsBeingTakenOver() {
		store.claim(this.requests);
		database.endLease(this.held.key());
		ClaimRequest completed = this.requests.get(0);
		ClaimRequest released = this.requests.get(4);
		List<Ending> endings = List.of(new Ending.Failed(this.held, FAILURE), new Ending.Completed(completed, null),
				new Ending.Released(released));
		transactions.executeWithoutResult((status) -> {
			store.claimInTransaction(List.of(TestDatabase.request(this.held.key())), false).get(0);
			assertThat(CompletableFuture.supplyAsync(() -> store.settle(endings))).failsWithin(5, TimeUnit.SECONDS)
				.withThrowableThat()
				.withCauseInstanceOf(OperationInProgressException.class);
			assertThat(database.record(completed.key()).state()).isEqualTo(State.COMPLETED);
			assertThat(database.record(released.key()).state()).isEqualTo(State.FAILED);
		});
		assertThat(store.settle(endings)).containsExactly(Settlement.LOST, Settlement.SETTLED, Settlement.SETTLED);
	}

	private void whileInserted(Runnable action) {
		transactions.executeWithoutResult((status) -> {
			one(store).insert(TestDatabase.request(this.held.key()));
			CompletableFuture.runAsync(action).orTimeout(5, TimeUnit.SECONDS).join();
		});
	}

}
