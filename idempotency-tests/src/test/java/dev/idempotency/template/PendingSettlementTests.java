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
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.transaction.UnexpectedRollbackException;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the settlements that an {@link IdempotencyTemplate} records when the store is
 * available again, although the record is not redelivered to this process.
 */
@Tag("promise-11")
@Order(3)
class PendingSettlementTests extends AbstractLeasedTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final ExecutorService handlers = Executors.newCachedThreadPool();

	PendingSettlementTests() {
		super(database);
	}

	@AfterEach
	void stopHandlers() {
		this.handlers.shutdownNow();
	}

	private void runUnavailable() {
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(this::run);
	}

	private void runFailing() {
		assertThatExceptionOfType(IllegalStateException.class).isThrownBy(this::runHandlerThatFails);
	}

	private void runHandlerThatFails() {
		this.template.execute(this.operation, new TextCodec(), () -> {
			throw new IllegalStateException("handler");
		});
	}

	private static State state(IdempotencyKey someKey) {
		return database.record(someKey).state();
	}

	@Test
	void completionIsRecordedWhenTheStoreIsBack() {
		this.store.fail(StoreCall.COMPLETE);
		runUnavailable();
		this.store.recover();
		await().until(() -> state() == State.COMPLETED);
	}

	@Test
	void pendingCompletionIsRecordedWhenTheTemplateIsClosed() {
		this.store.fail(StoreCall.COMPLETE);
		runUnavailable();
		this.store.recover();
		this.template.close();
		assertThat(state()).isEqualTo(State.COMPLETED);
	}

	@Test
	@Tag("promise-2")
	void completionIsRetriedWithoutTheHandlerWhenTheStoreThrowsAnError() {
		this.store.breakOnce(StoreCall.COMPLETE);
		assertThatExceptionOfType(IdempotencyStoreRefusedException.class).isThrownBy(this::run);
		database.endLease(this.key);
		run();
		assertThat(this.runs).hasValue(1);
		assertThat(state()).isEqualTo(State.COMPLETED);
	}

	// A store of an application may have transactions of its own.
	@Test
	@Tag("promise-2")
	void completionIsRetriedWithoutTheHandlerWhenTheTransactionOfTheStoreIsRolledBack() {
		AtomicBoolean first = new AtomicBoolean(true);
		this.store.before(StoreCall.COMPLETE, (claim) -> {
			if (first.getAndSet(false)) {
				throw new UnexpectedRollbackException("Transaction silently rolled back");
			}
		});
		assertThatExceptionOfType(IdempotencyStoreRefusedException.class).isThrownBy(this::run);
		database.endLease(this.key);
		run();
		assertThat(this.runs).hasValue(1);
		assertThat(state()).isEqualTo(State.COMPLETED);
	}

	@Test
	void failureIsRecordedLaterWhenTheStoreThrowsAnError() {
		this.store.breakOnce(StoreCall.FAIL);
		assertThatExceptionOfType(IllegalStateException.class).isThrownBy(this::runHandlerThatFails);
		await().until(() -> state() == State.FAILED);
	}

	private List<IdempotencyKey> sixOfWhichHalfFail(Runnable failure) {
		List<IdempotencyKey> keys = IntStream.range(0, 6).mapToObj((i) -> TestDatabase.newKey()).toList();
		this.store.fail(StoreCall.COMPLETE);
		keys.forEach((someKey) -> assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
			.isThrownBy(() -> this.template.execute(TestDatabase.operation(someKey, Mode.LEASED), ResultCodec.none(),
					() -> null)));
		this.store.before(StoreCall.COMPLETE, (claim) -> {
			if (keys.indexOf(claim.key()) % 2 == 0) {
				failure.run();
			}
		});
		this.store.recoverFrom(StoreCall.COMPLETE);
		return keys;
	}

	@Test
	void completionThatAlwaysFailsWithAnErrorDoesNotPreventTheSettlementOfOthers() {
		List<IdempotencyKey> keys = sixOfWhichHalfFail(() -> {
			throw new NoClassDefFoundError("as it were");
		});
		this.template.settle();
		assertThat(keys.stream().filter((someKey) -> state(someKey) == State.COMPLETED)).hasSize(3);
	}

	@Test
	void failureIsRecordedWhenTheStoreIsBack() {
		this.store.fail(StoreCall.FAIL);
		runFailing();
		this.store.recover();
		await().until(() -> state() == State.FAILED);
	}

	@Test
	void failureIsRecordedBeforeTheNextDeliveryClaims() {
		this.store.fail(StoreCall.FAIL);
		runFailing();
		this.store.recover();
		run();
		assertThat(this.runs).hasValue(1);
		assertThat(state()).isEqualTo(State.COMPLETED);
	}

	@Test
	void claimIsReleasedLaterWhenItsAnswerWasLost() {
		this.store.loseAnswers(StoreCall.CLAIM);
		runUnavailable();
		assertThat(state()).isEqualTo(State.IN_PROGRESS);
		this.store.recover();
		await().until(() -> state() == State.FAILED);
	}

	@Test
	void claimWithALostAnswerDoesNotBlockTheNextDelivery() {
		this.store.loseAnswers(StoreCall.CLAIM);
		runUnavailable();
		this.store.recover();
		run();
		assertThat(this.runs).hasValue(1);
		assertThat(database.record(this.key).attempt()).isOne();
	}

	@Test
	@Tag("promise-4")
	void handlerDoesNotRunAgainWhenTheAnswerToItsCompletionWasLost() {
		this.store.loseAnswers(StoreCall.COMPLETE);
		runUnavailable();
		this.store.recover();
		run();
		assertThat(this.runs).hasValue(1);
	}

	@Test
	@Tag("promise-4")
	void pendingCompletionChangesNothingWhenAnotherOwnerHasTheKey() {
		this.store.fail(StoreCall.COMPLETE);
		runUnavailable();
		database.endLease(this.key);
		one(database.store()).claim(TestDatabase.request(this.key));
		this.store.recover();
		await().until(() -> this.listener.storeCalls().contains("unreliable COMPLETE"));
		this.template.close();
		assertThat(state()).isEqualTo(State.IN_PROGRESS);
		assertThat(this.listener.storeCalls()).containsOnlyOnce("unreliable COMPLETE");
	}

	@Test
	void unreadableRecordDoesNotPreventTheSettlementOfOthers() {
		List<IdempotencyKey> keys = sixOfWhichHalfFail(() -> {
			throw new IdempotencyRecordUnreadableException("Not a record", null);
		});
		await().until(() -> keys.stream().filter((someKey) -> state(someKey) == State.COMPLETED).count() == 3);
	}

	@Test
	@Tag("promise-4")
	void failureOfAZombieDoesNotReplaceTheCompletionOfTheOwner() throws Exception {
		this.store.fail(StoreCall.COMPLETE, StoreCall.FAIL);
		CountDownLatch end = new CountDownLatch(1);
		Future<?> zombie = this.handlers.submit(() -> this.template.execute(this.operation, new TextCodec(), () -> {
			end.await();
			throw new IllegalStateException("zombie");
		}));
		await().until(() -> one(database.store()).find(this.key).isPresent());
		database.endLease(this.key);
		runUnavailable();
		end.countDown();
		assertThatExceptionOfType(ExecutionException.class).isThrownBy(zombie::get);
		this.store.recover();
		await().until(() -> state() == State.COMPLETED);
		assertThat(this.runs).hasValue(1);
	}

	@Test
	void pendingReleasesDoNotDisplaceACompletion() {
		this.store.fail(StoreCall.CLAIM, StoreCall.RELEASE);
		for (int i = 0; i < 1500; i++) {
			IdempotentOperation other = TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED);
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
				.isThrownBy(() -> this.template.execute(other, ResultCodec.none(), () -> null));
		}
		this.store.recoverFrom(StoreCall.CLAIM);
		this.store.fail(StoreCall.COMPLETE);
		runUnavailable();
		this.store.recoverFrom(StoreCall.COMPLETE);
		run();
		assertThat(this.runs).hasValue(1);
	}

	private IdempotentOperation shortOperation() {
		return TestDatabase.operation(this.key, Mode.LEASED, null, Duration.ofSeconds(2));
	}

	private void awaitCompletions(int completions) {
		await().until(() -> this.store.completions().size() >= completions);
	}

	@Test
	@Tag("promise-2")
	@Tag("slow")
	void leaseIsRenewedWhileACompletionIsPending() {
		this.store.fail(StoreCall.COMPLETE);
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
			.isThrownBy(() -> this.template.execute(shortOperation(), new TextCodec(), () -> "paid"));
		long end = System.nanoTime() + shortOperation().lease().multipliedBy(2).toNanos();
		await().pollDelay(Duration.ZERO).until(() -> {
			assertThat(one(database.store()).claim(TestDatabase.request(this.key)))
				.isInstanceOf(Claim.InProgress.class);
			return System.nanoTime() > end;
		});
	}

	@Test
	@Tag("promise-2")
	@Tag("slow")
	void pendingCompletionIsRecordedAtTheFirstSuccessOfAnyOtherCall() {
		this.store.fail(StoreCall.COMPLETE);
		runUnavailable();
		// The next periodic retry is four seconds away.
		awaitCompletions(4);
		this.store.recover();
		IdempotentOperation other = TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED);
		this.template.execute(other, new TextCodec(), () -> "other");
		await().atMost(Duration.ofSeconds(3)).until(() -> state() == State.COMPLETED);
	}

	@Test
	@Tag("promise-2")
	@Tag("slow")
	void pendingCompletionIsRecordedAfterTheFirstRenewalThatSucceeds() {
		this.store.fail(StoreCall.COMPLETE, StoreCall.RENEW);
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
			.isThrownBy(() -> this.template.execute(shortOperation(), new TextCodec(), () -> "paid"));
		awaitCompletions(4);
		this.store.recover();
		await().atMost(Duration.ofSeconds(3)).until(() -> state() == State.COMPLETED);
	}

	// Each redelivery doubles the time to the next periodic retry, here to 16 seconds.
	private void redeliverUntilTheNextRetryIsFarAway() {
		for (int i = 0; i < 5; i++) {
			runUnavailable();
		}
	}

	private void assertRecordedAfterCallOf(IdempotentOperation other) {
		redeliverUntilTheNextRetryIsFarAway();
		this.store.recover();
		this.template.execute(other, new TextCodec(), () -> "not run");
		await().until(() -> state() == State.COMPLETED);
	}

	private IdempotentOperation completedOperation() {
		IdempotentOperation other = TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED);
		this.template.execute(other, new TextCodec(), () -> "other");
		return other;
	}

	private IdempotentOperation completedOperationBesideAPendingOne() {
		IdempotentOperation other = completedOperation();
		this.store.fail(StoreCall.COMPLETE);
		runUnavailable();
		return other;
	}

	@Test
	@Tag("promise-2")
	void pendingCompletionIsRecordedSoonAfterAnotherCallSucceeds() {
		assertRecordedAfterCallOf(completedOperationBesideAPendingOne());
	}

	@Test
	@Tag("promise-2")
	void pendingCompletionIsRecordedSoonAfterTheNextSuccessWhenARetryHasFailed() {
		IdempotentOperation other = completedOperationBesideAPendingOne();
		int completions = this.store.completions().size();
		this.template.execute(other, new TextCodec(), () -> "not run");
		awaitCompletions(completions + 1);
		assertRecordedAfterCallOf(other);
	}

	@Test
	@Tag("promise-2")
	void pendingCompletionKeepsItsLease() {
		this.store.fail(StoreCall.COMPLETE);
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
			.isThrownBy(() -> this.template.execute(shortOperation(), new TextCodec(), () -> "paid"));
		await().until(() -> !this.store.renewals().isEmpty());
	}

	@Test
	void expiredClaimIsNotReleased() {
		IdempotentOperation expiring = TestDatabase.operation(this.key, Mode.LEASED, null, Duration.ofMillis(1));
		this.store.loseAnswers(StoreCall.CLAIM);
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
			.isThrownBy(() -> this.template.execute(expiring, new TextCodec(), () -> "not run"));
		await().pollDelay(Duration.ofMillis(20)).until(() -> true);
		this.store.recover();
		this.store.fail(StoreCall.COMPLETE);
		IdempotencyKey other = TestDatabase.newKey();
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(
				() -> this.template.execute(TestDatabase.operation(other, Mode.LEASED), new TextCodec(), () -> "paid"));
		this.store.recover();
		await().until(() -> state(other) == State.COMPLETED);
		assertThat(this.listener.storeCalls()).noneMatch((call) -> call.contains("RELEASE"));
	}

	@Test
	void logShowsThatACompletionIsPendingAndThatItIsRecorded() {
		this.store.fail(StoreCall.COMPLETE);
		try (Logs logs = Logs.ofThisThread()) {
			runUnavailable();
			assertThat(logs.messages("ERROR")).singleElement()
				.asString()
				.contains("its completion could not be recorded", "topic-0@7");
			redeliverUntilTheNextRetryIsFarAway();
			this.store.recover();
			run();
			assertThat(logs.messages("INFO"))
				.contains("A pending settlement is recorded now: complete of " + this.operation);
			assertThat(logs.messages("ERROR")).hasSize(1);
		}
	}

	@Test
	@Tag("promise-4")
	void logShowsThatACompletionWhoseKeyHasAnotherOwnerMayTakeEffectTwice() {
		this.store.fail(StoreCall.COMPLETE);
		runUnavailable();
		assertThat(errorWhenAnotherOwnerHasTheKey()).contains("complete of", "may take effect twice");
	}

	@Test
	@Tag("promise-4")
	void logShowsThatAFailureIsNotRecordedWhenItsKeyHasAnotherOwner() {
		this.store.fail(StoreCall.FAIL);
		try (Logs logs = Logs.ofThisThread()) {
			runFailing();
			assertThat(logs.messages("WARN")).last().asString().startsWith("The failure of ");
			assertThat(logs.messages("ERROR")).isEmpty();
		}
		assertThat(errorWhenAnotherOwnerHasTheKey()).contains("fail of").doesNotContain("twice");
	}

	private String errorWhenAnotherOwnerHasTheKey() {
		redeliverUntilTheNextRetryIsFarAway();
		database.endLease(this.key);
		one(database.store()).claim(TestDatabase.request(this.key));
		this.store.recover();
		try (Logs logs = Logs.ofThisThread()) {
			assertThatExceptionOfType(OperationInProgressException.class).isThrownBy(this::run);
			assertThat(logs.messages("ERROR")).hasSize(1);
			return logs.messages("ERROR").get(0);
		}
	}

	@Test
	void logShowsThatAReleaseIsPending() {
		List<PendingCompletion> deferred = new ArrayList<>();
		this.template.execute(this.operation, new TextCodec(), TransactionBoundary.deferred(deferred::add), null,
				() -> "rolled back");
		this.store.fail(StoreCall.RELEASE);
		try (Logs logs = Logs.ofThisThread()) {
			deferred.get(0).release();
			assertThat(logs.messages("WARN")).last().asString().startsWith("The release of ");
			assertThat(logs.messages("ERROR")).isEmpty();
		}
	}

	@Test
	@Tag("promise-14")
	void lastRetrySendsAllSettlementsToAStoreThatFailsQuickly() {
		this.store.fail(StoreCall.COMPLETE);
		for (int i = 0; i < 6; i++) {
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(() -> this.template
				.execute(TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED), new TextCodec(), () -> "paid"));
		}
		int completions = this.store.completions().size();
		this.template.settle();
		assertThat(this.store.completions().stream().skip(completions).distinct()).hasSize(6);
	}

	@Test
	@Tag("promise-2")
	void redeliverySettlesAllPendingSettlementsOfItsKey() {
		this.store.fail(StoreCall.COMPLETE, StoreCall.FAIL);
		assertThatExceptionOfType(IllegalStateException.class)
			.isThrownBy(() -> this.template.execute(this.operation, new TextCodec(), () -> {
				database.endLease(this.key);
				runUnavailable();
				throw new IllegalStateException("zombie");
			}));
		this.store.recover();
		assertThat(run()).isEqualTo(new IdempotentResult<>("run 1", true));
		assertThat(this.listener.storeCalls()).contains("unreliable COMPLETE", "unreliable FAIL");
	}

	@Test
	@Tag("promise-14")
	void completionThatTheStoreRefusesIsNotRetriedAfterEachCall() {
		this.store.before(StoreCall.COMPLETE, (claim) -> {
			if (claim.key().equals(this.key)) {
				throw new IllegalStateException("Result too large");
			}
		});
		assertThatExceptionOfType(IdempotencyStoreRefusedException.class).isThrownBy(this::run);
		UUID refused = this.store.completions().get(0);
		for (int i = 0; i < 30; i++) {
			this.template.execute(TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED), new TextCodec(),
					() -> "");
		}
		IdempotencyKey last = TestDatabase.newKey();
		this.template.execute(TestDatabase.operation(last, Mode.LEASED), new TextCodec(), () -> "");
		assertThat(this.store.completions().stream().filter(refused::equals)).hasSizeLessThan(8);
	}

	@Test
	void lastRetryReachesTheCompletionsBehindRefusedOnes() {
		List<IdempotencyKey> keys = sixOfWhichHalfFail(() -> {
			throw new IllegalStateException("Result too large");
		});
		this.template.close();
		assertThat(keys.stream().filter((someKey) -> state(someKey) == State.COMPLETED)).hasSize(3);
	}

}
