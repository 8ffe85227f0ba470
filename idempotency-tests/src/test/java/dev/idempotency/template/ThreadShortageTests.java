/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.util.unit.DataSize;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Mode;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.testsupport.FailingThreads;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.UnreliableStore;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link Leases}, {@link Settlements} and {@link AsyncSettlements} when their
 * threads cannot be started at first.
 */
class ThreadShortageTests {

	private static final Duration LEASE = Duration.ofMillis(600);

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final ClaimRequest first = TestDatabase.request(TestDatabase.newKey(), LEASE);

	private final ClaimRequest second = TestDatabase.request(TestDatabase.newKey(), LEASE);

	private final RecordingObserver listener = new RecordingObserver();

	private final UnreliableStore store = new UnreliableStore(database.store());

	private final StoreCalls calls = new StoreCalls("unreliable", this.listener.observers(), StoreCircuit.ALWAYS_CLOSED,
			false);

	private Leases leases = leases(0);

	private Settlements settlements = settlements(0);

	@AfterEach
	void close() {
		this.leases.close();
		this.settlements.close();
	}

	private Leases leases(int failures) {
		return new Leases(engine(), new FailingThreads(failures));
	}

	private Engine engine() {
		return new Engine(this.store, this.calls, new LocalCompletions(CompletionCache.NONE), new LocalClaims(),
				new StoredResults(DataSize.ofKilobytes(1), null, Observers.none(), new LocalClaims()),
				new OtherContents(), this.listener.observers(), new OperationContexts(List.of()));
	}

	private Settlements settlements(int failures) {
		return new Settlements(engine(), this.leases, new FailingThreads(failures));
	}

	private OwnedClaim keep(ClaimRequest request) {
		Claim.Acquired acquired = (Claim.Acquired) one(this.store).claim(request);
		return this.settlements.keep(TestDatabase.operation(request.key(), Mode.LEASED), request, acquired,
				System.nanoTime());
	}

	private void completeWithoutStore(ClaimRequest request) {
		OwnedClaim claim = keep(request);
		this.store.fail(StoreCall.COMPLETE);
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
			.isThrownBy(() -> this.settlements.settle(StoreCall.COMPLETE, claim.operation(), List.of(claim)));
		this.store.recover();
	}

	private static State state(ClaimRequest request) {
		return database.record(request.key()).state();
	}

	@Test
	@Tag("slow")
	void periodicTaskStartsAtTheNextRequestWhenNoThreadCouldBeStarted() {
		AtomicInteger done = new AtomicInteger();
		PeriodicTask task = new PeriodicTask(done::incrementAndGet, new FailingThreads(2));
		for (int i = 0; i < 2; i++) {
			assertThatExceptionOfType(InternalError.class).isThrownBy(() -> task.runEvery(Duration.ofMillis(10)));
		}
		long start = System.nanoTime();
		task.runEvery(Duration.ofMillis(500));
		await().until(() -> done.get() >= 2);
		// The requests that failed have scheduled nothing.
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(Duration.ofSeconds(1));
		task.runEvery(Duration.ofMillis(10));
		await().until(() -> done.get() > 5);
		task.close();
	}

	@Test
	@Tag("promise-2")
	void leasesAreRenewedAfterTheNextClaimWhenNoThreadCouldBeStarted() {
		this.leases = leases(1);
		this.settlements = settlements(0);
		assertThatExceptionOfType(InternalError.class).isThrownBy(() -> keep(this.first));
		keep(this.second);
		await().until(() -> this.store.renewals().size() > 2);
		// The lease of the first key is left to expire.
		assertThat(this.store.renewals()).containsOnly(1);
	}

	@Test
	@Tag("promise-11")
	void pendingCompletionsAreRecordedAfterTheNextOneWhenNoThreadCouldBeStarted() {
		this.settlements = settlements(1);
		completeWithoutStore(this.first);
		completeWithoutStore(this.second);
		await().untilAsserted(
				() -> assertThat(List.of(state(this.first), state(this.second))).containsOnly(State.COMPLETED));
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-2")
	void asyncResultIsRecordedOnTheThreadOfTheHandlerWhenNoThreadCanBeStarted() {
		ThreadFactory threads = new FailingThreads(1);
		try (AsyncSettlements asynchronous = new AsyncSettlements(this.settlements, threads, new FailingThreads(1))) {
			CompletableFuture<String> handler = new CompletableFuture<>();
			CompletableFuture<IdempotentResult<String>> answer = settle(asynchronous, this.first, handler);
			handler.complete("paid");
			assertThat(answer).isCompletedWithValue(new IdempotentResult<>("paid", false));
			assertThat(state(this.first)).isEqualTo(State.COMPLETED);
			this.store.awaitEndOfRenewals(LEASE);
			assertThat(settle(asynchronous, this.second, CompletableFuture.completedFuture("again")).join())
				.isEqualTo(new IdempotentResult<>("again", false));
		}
	}

	// On the current thread, so that the order is that of the code.
	@Test
	@Tag("promise-2")
	void handlerIsCancelledBeforeItsFailureIsRecorded() {
		ThreadFactory threads = new FailingThreads(Integer.MAX_VALUE);
		CompletableFuture<String> handler = new CompletableFuture<>();
		AtomicBoolean cancelled = new AtomicBoolean();
		this.store.before(StoreCall.FAIL, (claim) -> cancelled.set(handler.isCancelled()));
		try (AsyncSettlements asynchronous = new AsyncSettlements(this.settlements, threads, threads)) {
			CompletableFuture<String> converted = Futures.convert(handler, (result, error) -> {
				throw error;
			});
			settle(asynchronous, this.first, converted).cancel(true);
		}
		assertThat(state(this.first)).isEqualTo(State.FAILED);
		assertThat(cancelled).isTrue();
	}

	private CompletableFuture<IdempotentResult<String>> settle(AsyncSettlements asynchronous, ClaimRequest request,
			CompletableFuture<String> handler) {
		return asynchronous.settle(handler, keep(request), (result) -> result.getBytes(StandardCharsets.UTF_8));
	}

}
