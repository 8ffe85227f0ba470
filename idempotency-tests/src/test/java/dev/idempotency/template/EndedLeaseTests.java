/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.util.unit.DataSize;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Mode;
import dev.idempotency.Threads;
import dev.idempotency.store.Claim;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

/**
 * Tests for leases that are not renewed any more. The log of the close names the number
 * of the others.
 */
@Tag("promise-7")
class EndedLeaseTests extends AbstractLeasedTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final List<PendingCompletion> deferred = new ArrayList<>();

	EndedLeaseTests() {
		super(database);
	}

	private List<String> close() {
		try (Logs logs = Logs.ofThisThread()) {
			this.template.close();
			return logs.messages("WARN").stream().filter((message) -> message.contains("still running")).toList();
		}
	}

	private void assertNoLeaseIsLeft() {
		assertThat(close()).isEmpty();
	}

	private void runDeferred() {
		this.template.execute(this.operation, new TextCodec(), TransactionBoundary.deferred(this.deferred::add), null,
				() -> "deferred");
	}

	private void runFailing() {
		assertThatIllegalStateException()
			.isThrownBy(() -> this.template.execute(this.operation, new TextCodec(), () -> {
				throw new IllegalStateException("handler");
			}));
	}

	@Test
	void leaseOfARunningHandlerIsReported() {
		this.template.execute(this.operation, new TextCodec(), () -> {
			assertThat(close()).singleElement().asString().startsWith("1 idempotent handlers are still running");
			return "paid";
		});
	}

	@Test
	void completedHandlerLeavesNoLease() {
		run();
		assertNoLeaseIsLeft();
	}

	@Test
	void failedHandlerLeavesNoLeaseAlthoughItsFailureCannotBeRecorded() {
		this.store.fail(StoreCall.FAIL);
		runFailing();
		assertNoLeaseIsLeft();
	}

	@Test
	void handlerWhoseResultBreaksTheCodecLeavesNoLease() {
		assertThat(this.template.execute(this.operation, new BrokenCodec(), () -> "paid").result()).isEqualTo("paid");
		assertNoLeaseIsLeft();
	}

	@Test
	void asynchronousHandlerWhoseResultBreaksTheCodecLeavesNoLease() {
		CompletableFuture<?> answer = this.template.executeAsync(this.operation, new BrokenCodec(),
				() -> CompletableFuture.completedFuture("paid"));
		await().until(answer::isDone);
		this.template.settle();
		assertNoLeaseIsLeft();
	}

	@Test
	void completionThatIsRecordedAtARedeliveryLeavesNoLease() {
		this.store.fail(StoreCall.COMPLETE);
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(this::run);
		this.store.recover();
		run();
		assertNoLeaseIsLeft();
	}

	@Test
	void completionThatIsStillPendingAtTheCloseLeavesItsLease() {
		this.store.fail(StoreCall.COMPLETE);
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(this::run);
		assertThat(close()).hasSize(1);
	}

	@Test
	void deferredCompletionKeepsItsLeaseUntilItIsRecorded() {
		runDeferred();
		assertThat(close()).hasSize(1);
		this.deferred.get(0).complete();
		assertNoLeaseIsLeft();
	}

	@Test
	void releasedCompletionLeavesNoLease() {
		runDeferred();
		this.deferred.get(0).release();
		assertNoLeaseIsLeft();
	}

	@Test
	void abandonedCompletionLeavesNoLeaseAndItsKeyInProgress() {
		runDeferred();
		this.deferred.get(0).abandon();
		assertNoLeaseIsLeft();
		assertThat(state()).isEqualTo(State.IN_PROGRESS);
	}

	// The store has forgotten the first claim, so that both have the same fence.
	@Test
	void claimThatEndsWhileAnotherClaimOfItsKeyBeginsLeavesNoLease() throws Exception {
		Engine engine = new Engine(this.store,
				new StoreCalls("unreliable", this.listener.observers(), StoreCircuit.ALWAYS_CLOSED, false),
				new LocalCompletions(CompletionCache.NONE), new LocalClaims(),
				new StoredResults(DataSize.ofKilobytes(1), null, Observers.none(), new LocalClaims()),
				new OtherContents(), this.listener.observers(), new OperationContexts(List.of()));
		AtomicInteger ready = new AtomicInteger();
		ExecutorService consumer = Executors.newSingleThreadExecutor();
		try (Leases leases = new Leases(engine, Threads.named("leases"))) {
			for (int i = 0; i < 2000; i++) {
				OwnedClaim ending = claim(this.key);
				OwnedClaim beginning = claim(this.key);
				leases.keep(ending);
				int both = 2 * (i + 1);
				Future<?> end = consumer.submit(() -> {
					meet(ready, both);
					leases.release(ending);
				});
				meet(ready, both);
				leases.keep(beginning);
				end.get();
				leases.release(beginning);
			}
			// A claim that is left would be renewed together with this one.
			IdempotencyKey other = TestDatabase.newKey();
			leases.keep(claim(other));
			await().until(() -> this.store.renewedKeys().stream().anyMatch((keys) -> keys.contains(other)));
			assertThat(this.store.renewedKeys()).filteredOn((keys) -> keys.contains(other))
				.containsOnly(List.of(other));
		}
		finally {
			consumer.shutdown();
		}
	}

	// Faster than a thread that has to be woken.
	private static void meet(AtomicInteger ready, int threads) {
		ready.incrementAndGet();
		while (ready.get() < threads) {
			Thread.onSpinWait();
		}
	}

	private static OwnedClaim claim(IdempotencyKey key) {
		IdempotentOperation operation = TestDatabase.operation(key, Mode.LEASED, null, Duration.ofMillis(600));
		return new OwnedClaim(operation, operation.newRequest(), new Claim.Acquired(1, 1), System.nanoTime());
	}

	@Test
	void threadsOfRenewalsAndRetriesEndWithTheTemplate() {
		Thread caller = Thread.currentThread();
		Set<Thread> retries = ConcurrentHashMap.newKeySet();
		this.store.before(StoreCall.COMPLETE, (claim) -> retries.add(Thread.currentThread()));
		this.store.fail(StoreCall.COMPLETE);
		IdempotentOperation renewedSoon = TestDatabase.operation(this.key, Mode.LEASED, null, Duration.ofMillis(600));
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
			.isThrownBy(() -> this.template.execute(renewedSoon, new TextCodec(), () -> "paid"));
		retries.remove(caller);
		await().until(() -> !retries.isEmpty() && !this.store.renewers().isEmpty());
		this.template.close();
		retries.remove(caller);
		await().until(() -> retries.stream().noneMatch(Thread::isAlive)
				&& this.store.renewers().stream().noneMatch(Thread::isAlive));
	}

	private static final class BrokenCodec implements ResultCodec<String> {

		@Override
		public byte[] write(String result) {
			throw new InternalError("as it were");
		}

		@Override
		public String read(byte[] bytes) {
			throw new UnsupportedOperationException();
		}

	}

}
