/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OperationLostException;
import dev.idempotency.caffeine.CaffeineCompletionCache;
import dev.idempotency.store.Claim;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.IdempotentOperation.Handler;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;
import dev.idempotency.testsupport.UnreliableStore;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link IdempotencyTemplate#executeAsync}.
 */
@Order(3)
class AsyncTemplateTests {

	private static final Duration LEASE = Duration.ofSeconds(2);

	// Well before the time after which a wait for another process ends.
	private static final Duration SOON = Duration.ofSeconds(7);

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final IdempotencyKey key = TestDatabase.newKey();

	private final IdempotentOperation operation = TestDatabase.operation(this.key, Mode.LEASED);

	private final RecordingObserver listener = new RecordingObserver();

	private final UnreliableStore store = new UnreliableStore(database.store());

	private final IdempotencyTemplate template = template(false);

	private final AtomicInteger runs = new AtomicInteger();

	private final CompletableFuture<String> handler = new CompletableFuture<>();

	private IdempotencyTemplate template(boolean failOpen) {
		return new IdempotencyTemplate(this.store, new Settings(null, failOpen, this.listener.observers()));
	}

	@AfterEach
	void close() {
		this.store.recover();
		this.template.close();
	}

	private CompletableFuture<IdempotentResult<String>> run() {
		return run(this.operation, this.handler);
	}

	private CompletableFuture<IdempotentResult<String>> run(IdempotentOperation someOperation,
			CompletionStage<String> stage) {
		return this.template.executeAsync(someOperation, new TextCodec(), () -> {
			this.runs.incrementAndGet();
			return stage;
		});
	}

	private IdempotentOperation shortOperation() {
		return TestDatabase.operation(this.key, Mode.LEASED, null, LEASE);
	}

	private State state() {
		return database.record(this.key).state();
	}

	private boolean isFree() {
		return one(database.store()).claim(TestDatabase.request(this.key)) instanceof Claim.Acquired;
	}

	private static Throwable failure(CompletableFuture<?> answer) {
		await().until(answer::isDone);
		return answer.handle((result, error) -> error).join();
	}

	@Test
	@Tag("promise-1")
	void keyIsCompletedWhenTheStageCompletes() {
		CompletableFuture<IdempotentResult<String>> answer = run();
		assertThat(answer).isNotDone();
		assertThat(state()).isEqualTo(State.IN_PROGRESS);
		assertThat(this.listener.outcomes()).isEmpty();
		this.handler.complete("paid");
		assertThat(answer.join()).isEqualTo(new IdempotentResult<>("paid", false));
		assertThat(state()).isEqualTo(State.COMPLETED);
		await().untilAsserted(() -> assertThat(this.listener.outcomes()).containsExactly(Outcome.PROCESSED));
	}

	@Test
	void keyIsCompletedAtOnceWhenTheStageIsAlreadyComplete() {
		assertThat(run(this.operation, CompletableFuture.completedStage("paid")).join().result()).isEqualTo("paid");
		assertThat(state()).isEqualTo(State.COMPLETED);
	}

	@Test
	void missingStageCompletesTheKeyWithoutResult() {
		assertThat(run(this.operation, null).join()).isEqualTo(new IdempotentResult<>(null, false));
		assertThat(state()).isEqualTo(State.COMPLETED);
	}

	@Test
	@Tag("promise-1")
	void failureOfTheStageIsRecordedAndPassedToTheCaller() {
		CompletableFuture<IdempotentResult<String>> answer = run(this.operation,
				this.handler.thenApply((value) -> value));
		this.handler.completeExceptionally(new IOException("no route"));
		assertThat(failure(answer)).isInstanceOf(IOException.class);
		assertThat(database.record(this.key)).extracting(IdempotencyRecord::state, IdempotencyRecord::failure)
			.containsExactly(State.FAILED, new Failure("java.io.IOException", "no route"));
		await().untilAsserted(() -> assertThat(this.listener.outcomes()).containsExactly(Outcome.FAILED));
		assertThat(isFree()).isTrue();
	}

	@Test
	@Tag("promise-1")
	void blockedStageHasNotFailedAndUsesNoAttempt() {
		CompletableFuture<IdempotentResult<String>> answer = run();
		this.handler.completeExceptionally(new OperationInProgressException("nested", Duration.ofSeconds(1)));
		assertThat(failure(answer)).isInstanceOf(OperationInProgressException.class);
		assertThat(database.record(this.key)).extracting(IdempotencyRecord::attempt, IdempotencyRecord::failure)
			.containsExactly(0, null);
		await().untilAsserted(() -> assertThat(this.listener.outcomes()).containsExactly(Outcome.BLOCKED));
	}

	@Test
	@Tag("promise-1")
	void exceptionBeforeTheStageIsThrownToTheCaller() {
		assertThatExceptionOfType(IOException.class)
			.isThrownBy(() -> this.template.executeAsync(this.operation, new TextCodec(), () -> {
				throw new IOException("no route");
			}));
		assertThat(state()).isEqualTo(State.FAILED);
		assertThat(this.listener.outcomes()).containsExactly(Outcome.FAILED);
	}

	@Test
	void cancellationOfTheResultCancelsTheHandlerAndFreesTheKey() {
		CompletableFuture<IdempotentResult<String>> answer = run();
		answer.cancel(true);
		assertThat(this.handler).isCancelled();
		await().until(() -> state() == State.FAILED);
		assertThat(database.record(this.key).failure().type()).isEqualTo(CancellationException.class.getName());
		assertThat(isFree()).isTrue();
		assertThat(this.listener.outcomes()).containsExactly(Outcome.FAILED);
	}

	@Test
	void handlerIsCancelledBeforeItsOutcomeIsReported() {
		AtomicBoolean cancelled = new AtomicBoolean();
		OperationObserver observer = new OperationObserver() {

			@Override
			public void handled(HandledOperation operation) {
				cancelled.set(AsyncTemplateTests.this.handler.isCancelled());
			}

		};
		try (IdempotencyTemplate observed = new IdempotencyTemplate(this.store,
				new Settings(null, false, new Observers(List.of(observer), List.of())))) {
			observed.executeAsync(this.operation, new TextCodec(), () -> this.handler).cancel(true);
		}
		assertThat(cancelled).isTrue();
	}

	@Test
	@Tag("promise-2")
	@Tag("slow")
	void leaseIsRenewedUntilTheStageCompletes() {
		CompletableFuture<IdempotentResult<String>> answer = run(shortOperation(), this.handler);
		Instant end = database.record(this.key).claimedUntil().plus(LEASE);
		await().until(() -> database.record(this.key).claimedUntil().isAfter(end));
		assertThat(isFree()).isFalse();
		this.handler.complete("paid");
		answer.join();
		assertThat(database.record(this.key)).extracting(IdempotencyRecord::state, IdempotencyRecord::fence)
			.containsExactly(State.COMPLETED, 1);
		this.store.awaitEndOfRenewals(LEASE.dividedBy(2));
	}

	@Test
	@Tag("promise-3")
	@Tag("promise-8")
	void duplicateReplaysTheStoredResultAtOnce() {
		this.handler.complete("paid");
		run().join();
		CompletableFuture<IdempotentResult<String>> duplicate = run(this.operation, new CompletableFuture<>());
		assertThat(duplicate).isCompletedWithValue(new IdempotentResult<>("paid", true));
		assertThat(this.runs).hasValue(1);
		await().untilAsserted(() -> assertThat(this.listener.outcomes()).containsExactlyInAnyOrder(Outcome.PROCESSED,
				Outcome.DUPLICATE));
	}

	@Test
	@Tag("promise-2")
	void operationInProgressIsBlockedAtOnce() {
		run();
		assertThatExceptionOfType(OperationInProgressException.class).isThrownBy(this::run);
		assertThat(this.runs).hasValue(1);
		assertThat(this.listener.outcomes()).containsExactly(Outcome.IN_PROGRESS);
	}

	@Test
	@Tag("promise-2")
	void exceptionOfAnOperationInProgressHereShowsItsEnd() {
		run();
		CompletionStage<?> ended = inProgress().ended();
		assertThat(ended).isNotNull();
		assertThat(ended.toCompletableFuture()).isNotDone();
		this.handler.completeExceptionally(new IOException("no route"));
		assertThat(ended).succeedsWithin(SOON);
		CompletableFuture<String> retry = new CompletableFuture<>();
		run(this.operation, retry);
		CompletionStage<?> completed = inProgress().ended();
		retry.complete("paid");
		assertThat(completed).succeedsWithin(SOON);
		assertThat(run().join()).isEqualTo(new IdempotentResult<>("paid", true));
		assertThat(this.runs).hasValue(2);
	}

	@Test
	void exceptionOfACopyInABatchShowsTheSameEnd() {
		run();
		BatchResult<String> result = this.template.executeAll(
				List.of(new BatchItem(this.operation, "first"), new BatchItem(this.operation, "copy")), new TextCodec(),
				(BatchHandler<String>) (due) -> List.of());
		this.handler.complete("paid");
		assertThat(result.blocked()).hasSize(2)
			.allSatisfy((index, blocked) -> assertThat(((OperationInProgressException) blocked).ended())
				.succeedsWithin(SOON));
	}

	// An immediate redelivery would repeat the exception in a loop.
	@ParameterizedTest
	@ValueSource(strings = { "directly", "in another operation", "in a batch" })
	void exceptionOfAHandlerThatCallsItsOwnOperationDoesNotShowItsEnd(String how) {
		AtomicReference<OperationInProgressException> own = new AtomicReference<>();
		IdempotentOperation other = TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED);
		Handler<String, RuntimeException> handler = () -> {
			own.set(inProgress());
			return "paid";
		};
		switch (how) {
			case "directly" -> this.template.execute(this.operation, new TextCodec(), handler);
			case "in another operation" -> this.template.execute(this.operation, new TextCodec(),
					() -> this.template.execute(other, new TextCodec(), handler).result());
			default -> this.template.executeAll(
					List.of(new BatchItem(other, "first"), new BatchItem(this.operation, "second")), new TextCodec(),
					(BatchHandler<String>) (due) -> List.of(handler.handle(), "second"));
		}
		assertThat(own.get()).isNotNull();
		assertThat(own.get().ended()).isNull();
	}

	private OperationInProgressException inProgress() {
		return catchThrowableOfType(OperationInProgressException.class, this::run);
	}

	@Test
	@Tag("promise-4")
	void ownershipLossIsReportedAndChangesNothing() {
		CompletableFuture<IdempotentResult<String>> answer = run();
		database.endLease(this.key);
		assertThat(isFree()).isTrue();
		this.handler.complete("zombie");
		assertThat(failure(answer)).isInstanceOf(OperationLostException.class);
		assertThat(database.record(this.key)).extracting(IdempotencyRecord::state, IdempotencyRecord::fence)
			.containsExactly(State.IN_PROGRESS, 2);
		await().untilAsserted(() -> assertThat(this.listener.outcomes()).containsExactly(Outcome.LOST));
	}

	@Test
	@Tag("promise-4")
	void ownershipLossOfAFailedHandlerIsReportedWithItsFailure() {
		CompletableFuture<IdempotentResult<String>> answer = run();
		database.endLease(this.key);
		assertThat(isFree()).isTrue();
		this.handler.completeExceptionally(new IllegalStateException("handler"));
		assertThat(failure(answer)).isInstanceOf(OperationLostException.class)
			.hasCauseInstanceOf(IllegalStateException.class);
	}

	@Test
	@Tag("promise-11")
	@Tag("slow")
	void resultIsNotCompletedUntilTheStoreHasRecordedTheCompletion() {
		this.store.fail(StoreCall.COMPLETE);
		CompletableFuture<IdempotentResult<String>> answer = run();
		this.handler.complete("paid");
		await().until(() -> this.store.completions().size() >= 2);
		assertThat(answer).isNotDone();
		this.store.recover();
		assertThat(answer.join()).isEqualTo(new IdempotentResult<>("paid", false));
		assertThat(state()).isEqualTo(State.COMPLETED);
		await().untilAsserted(() -> assertThat(this.listener.outcomes()).containsExactly(Outcome.PROCESSED));
	}

	@Test
	@Tag("promise-4")
	@Tag("promise-11")
	void resultFailsWhenAnotherOwnerHasTakenTheKeyOverBeforeTheCompletion() {
		this.store.fail(StoreCall.COMPLETE);
		CompletableFuture<IdempotentResult<String>> answer = run();
		this.handler.complete("paid");
		await().until(() -> !this.store.completions().isEmpty());
		database.endLease(this.key);
		assertThat(isFree()).isTrue();
		this.store.recover();
		assertThat(failure(answer)).isInstanceOf(OperationLostException.class);
		assertThat(state()).isEqualTo(State.IN_PROGRESS);
	}

	@Test
	@Tag("promise-11")
	void failureIsReportedAtOnceAndRecordedLaterWhenTheStoreIsUnavailable() {
		this.store.fail(StoreCall.FAIL);
		CompletableFuture<IdempotentResult<String>> answer = run();
		this.handler.completeExceptionally(new CompletionException(new IOException("no route")));
		assertThat(failure(answer)).isInstanceOf(IOException.class);
		assertThat(state()).isEqualTo(State.IN_PROGRESS);
		this.store.recover();
		await().until(() -> state() == State.FAILED);
	}

	@Test
	@Tag("promise-7")
	@Tag("slow")
	void stageThatCompletesAfterTheCloseLeavesTheKeyToItsLease() {
		CompletableFuture<IdempotentResult<String>> answer = run(shortOperation(), this.handler);
		this.template.close();
		this.handler.complete("too late");
		await().until(this::isFree);
		assertThat(answer).isNotDone();
		assertThat(this.store.completions()).isEmpty();
	}

	@Test
	@Tag("promise-7")
	void stageThatCompletesAfterTheCloseIsLoggedAndSettlesNothing() {
		CompletableFuture<IdempotentResult<String>> answer = run();
		this.template.close();
		try (Logs logs = Logs.ofThisThread()) {
			this.handler.complete("too late");
			assertThat(logs.messages("WARN")).singleElement()
				.asString()
				.contains("ended after the application was closed", "topic-0@7");
		}
		assertThat(answer).isNotDone();
		assertThat(this.store.completions()).isEmpty();
	}

	@Test
	void settleWaitsForCompletedStages() {
		CountDownLatch begun = new CountDownLatch(1);
		CountDownLatch end = new CountDownLatch(1);
		this.store.before(StoreCall.COMPLETE, (claim) -> {
			begun.countDown();
			awaitLatch(end);
		});
		run();
		this.handler.complete("paid");
		awaitLatch(begun);
		CompletableFuture.delayedExecutor(100, TimeUnit.MILLISECONDS).execute(end::countDown);
		this.template.settle();
		assertThat(end.getCount()).isZero();
		assertThat(state()).isEqualTo(State.COMPLETED);
	}

	// More than there are threads for their settlements.
	@Test
	@Tag("promise-7")
	void closeRecordsTheOutcomesOfHandlersThatEndWhileItWaits() throws Exception {
		CountDownLatch firstMayEnd = new CountDownLatch(1);
		CountDownLatch othersMayEnd = new CountDownLatch(1);
		this.store.before(StoreCall.COMPLETE,
				(claim) -> awaitLatch(claim.key().equals(this.key) ? firstMayEnd : othersMayEnd));
		run();
		CompletableFuture<String> otherHandlers = new CompletableFuture<>();
		List<IdempotencyKey> others = Stream.generate(TestDatabase::newKey).limit(12).toList();
		others.forEach((other) -> run(TestDatabase.operation(other, Mode.LEASED), otherHandlers));
		this.handler.complete("paid");
		Thread closing = new Thread(this.template::close);
		closing.start();
		await().until(() -> closing.getState() == Thread.State.TIMED_WAITING);
		otherHandlers.complete("paid");
		firstMayEnd.countDown();
		await().until(() -> state() == State.COMPLETED);
		othersMayEnd.countDown();
		closing.join();
		assertThat(others).allMatch((other) -> database.record(other).state() == State.COMPLETED);
	}

	@Test
	void closeNamesTheOperationsWhoseOutcomesItCouldNotRecord() {
		CountDownLatch end = new CountDownLatch(1);
		this.store.before(StoreCall.COMPLETE, (claim) -> awaitLatch(end));
		run();
		this.handler.complete("paid");
		try (Logs logs = Logs.ofThisThread()) {
			// It ends the wait.
			Thread.currentThread().interrupt();
			this.template.close();
			assertThat(Thread.interrupted()).isTrue();
			assertThat(logs.messages("WARN")).first()
				.asString()
				.contains("are not recorded yet: [" + this.operation + "]");
		}
		finally {
			end.countDown();
		}
	}

	@Test
	void runningHandlerDoesNotDelayTheClose() {
		run();
		long start = System.nanoTime();
		this.template.close();
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(5));
	}

	@Test
	void duplicateOfACompletionOfThisProcessCostsNoCall() {
		try (IdempotencyTemplate cached = new IdempotencyTemplate(this.store,
				new Settings(null, null, false, StoreCircuit.ALWAYS_CLOSED,
						new CaffeineCompletionCache(1_000_000, Duration.ofMinutes(1)), this.listener.observers(),
						List.of(), IdempotencyTemplate.Settings.DEFAULT_MAXIMUM_RESULT_SIZE, null,
						OperationSpec.Defaults.STANDARD))) {
			this.handler.complete("paid");
			cached.executeAsync(this.operation, new TextCodec(), () -> this.handler).join();
			int calls = this.listener.storeCalls().size();
			assertThat(cached.executeAsync(this.operation, new TextCodec(), () -> this.handler))
				.isCompletedWithValue(new IdempotentResult<>("paid", true));
			assertThat(this.listener.storeCalls()).hasSize(calls);
		}
	}

	@Test
	void transactionalModeIsRejectedForAnAsynchronousOperation() {
		assertThatIllegalArgumentException()
			.isThrownBy(() -> run(TestDatabase.operation(this.key, Mode.TRANSACTIONAL), this.handler))
			.withMessageContaining("Use leased mode");
	}

	private static void awaitLatch(CountDownLatch latch) {
		try {
			latch.await();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	@Test
	@Tag("promise-11")
	void continuationsThatWaitForOtherOperationsDoNotBlockThem() {
		List<CompletableFuture<String>> answers = Stream.generate(TestDatabase::newKey)
			.limit(10)
			.map((someKey) -> run(TestDatabase.operation(someKey, Mode.LEASED), this.handler)
				.thenApply((executed) -> run(TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED),
						CompletableFuture.supplyAsync(() -> "after " + executed.result()))
					.join()
					.result()))
			.toList();
		this.handler.complete("paid");
		await().until(() -> answers.stream().allMatch(CompletableFuture::isDone));
		assertThat(answers.stream().map(CompletableFuture::join)).containsOnly("after paid");
	}

	@Test
	void callerContinuesOnAThreadThatDoesNotSettleClaims() {
		CompletableFuture<String> thread = run().thenApply((executed) -> Thread.currentThread().getName());
		this.handler.complete("paid");
		assertThat(thread.join()).startsWith("idempotency-answers-");
		this.store.fail(StoreCall.COMPLETE);
		CompletableFuture<String> later = run(TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED),
				CompletableFuture.completedFuture("late"))
			.thenApply((executed) -> Thread.currentThread().getName());
		await().until(() -> this.store.completions().size() > 1);
		this.store.recover();
		assertThat(later.join()).startsWith("idempotency-answers-");
	}

}
