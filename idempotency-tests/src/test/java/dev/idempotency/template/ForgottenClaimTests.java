/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.OperationLostException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

/**
 * Tests for claims that the store forgets while the handler is running, as after an
 * eviction or a failover.
 */
class ForgottenClaimTests extends AbstractLeasedTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	ForgottenClaimTests() {
		super(database);
	}

	private static void forget(IdempotencyKey someKey) {
		database.store().records().orElseThrow().evict(someKey, true);
		assertThat(one(database.store()).find(someKey)).isEmpty();
	}

	private IdempotentResult<String> runAndForget() {
		return this.template.execute(this.operation, new TextCodec(), () -> {
			forget(this.key);
			return "run " + this.runs.incrementAndGet();
		});
	}

	@Test
	@Tag("promise-3")
	@Tag("promise-6")
	void completionOfAForgottenKeyIsRecordedWithItsFence() {
		assertThatIllegalStateException()
			.isThrownBy(() -> this.template.execute(this.operation, new TextCodec(), () -> {
				throw new IllegalStateException("first attempt");
			}));
		assertThat(runAndForget()).isEqualTo(new IdempotentResult<>("run 1", false));
		assertThat(database.record(this.key))
			.extracting(IdempotencyRecord::state, IdempotencyRecord::fence, IdempotencyRecord::attempt)
			.containsExactly(State.COMPLETED, 2, 2);
		assertThat(runAndForget()).isEqualTo(new IdempotentResult<>("run 1", true));
		assertThat(this.runs).hasValue(1);
	}

	@Test
	@Tag("promise-4")
	void forgottenKeyThatAnotherOwnerHasClaimedIsLost() {
		assertThatExceptionOfType(OperationLostException.class)
			.isThrownBy(() -> this.template.execute(this.operation, new TextCodec(), () -> {
				forget(this.key);
				one(database.store()).claim(TestDatabase.request(this.key));
				return "zombie";
			}));
		assertThat(state()).isEqualTo(State.IN_PROGRESS);
	}

	@Test
	@Tag("promise-2")
	void renewalRestoresAForgottenClaim() {
		IdempotentOperation renewedSoon = TestDatabase.operation(this.key, Mode.LEASED, null, Duration.ofSeconds(2));
		this.template.execute(renewedSoon, new TextCodec(), () -> {
			forget(this.key);
			await().until(() -> one(database.store()).find(this.key).isPresent());
			assertThat(one(database.store()).claim(TestDatabase.request(this.key)))
				.isInstanceOf(Claim.InProgress.class);
			assertThat(IdempotentExecution.current().ownershipLost()).isFalse();
			return "paid";
		});
		assertThat(state()).isEqualTo(State.COMPLETED);
	}

	@Test
	@Tag("promise-1")
	void failureOfAForgottenKeyLeavesItFree() {
		assertThatIllegalStateException()
			.isThrownBy(() -> this.template.execute(this.operation, new TextCodec(), () -> {
				forget(this.key);
				throw new IllegalStateException("handler");
			}))
			.withMessage("handler");
		assertThat(one(database.store()).find(this.key)).isEmpty();
	}

	@Test
	@Tag("promise-3")
	void forgottenKeyOfABatchIsCompletedWithTheOthers() {
		IdempotencyKey other = TestDatabase.newKey();
		BatchResult<String> executed = this.template.executeAll(
				List.of(new BatchItem(this.operation, 0), new BatchItem(TestDatabase.operation(other, Mode.LEASED), 0)),
				new TextCodec(), (due) -> {
					forget(this.key);
					return List.of("one", "two");
				});
		assertThat(executed.blocked()).isEmpty();
		assertThat(state()).isEqualTo(State.COMPLETED);
		assertThat(database.record(other).state()).isEqualTo(State.COMPLETED);
		assertThat(runAndForget()).isEqualTo(new IdempotentResult<>("one", true));
	}

	@Test
	@Tag("promise-3")
	@Tag("promise-11")
	void pendingCompletionOfAForgottenKeyIsRecordedWhenTheStoreIsBack() {
		this.store.fail(StoreCall.COMPLETE);
		CompletableFuture<IdempotentResult<String>> answer = this.template.executeAsync(this.operation, new TextCodec(),
				() -> CompletableFuture.completedFuture("paid"));
		await().until(() -> !this.template.admin().unrecorded().isEmpty());
		forget(this.key);
		this.store.recover();
		assertThat(answer.join().result()).isEqualTo("paid");
		assertThat(state()).isEqualTo(State.COMPLETED);
		assertThat(this.listener.completions()).containsExactly("failed " + this.key.value(),
				"SETTLED " + this.key.value());
	}

	@Test
	@Tag("promise-4")
	void forgottenKeyThatAnotherOwnerClaimsBeforeItIsRestoredIsLost() {
		this.store.beforeRestore((claim) -> one(database.store()).claim(TestDatabase.request(this.key)));
		assertThatExceptionOfType(OperationLostException.class).isThrownBy(this::runAndForget);
		assertThat(state()).isEqualTo(State.IN_PROGRESS);
	}

	@Test
	@Tag("promise-3")
	@Tag("promise-11")
	void completionIsPendingWhenTheStoreForgetsTheRestoredClaimToo() {
		this.store.before(StoreCall.COMPLETE,
				(claim) -> database.store().records().orElseThrow().evict(this.key, true));
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(this::run)
			.withMessageContainingAll("has lost a claim that was just restored", "eviction policy");
		this.store.recover();
		assertThat(run()).isEqualTo(new IdempotentResult<>("run 1", true));
	}

	// The completion is answered when the renewal has restored the claim.
	@Test
	@Tag("promise-2")
	void renewalBeforeTheAnswerToACompletionDoesNotRestoreAKeyThatWasEvicted() {
		CountDownLatch completed = new CountDownLatch(1);
		CountDownLatch restored = new CountDownLatch(1);
		this.store.before(StoreCall.RENEW, (claim) -> awaitLatch(completed));
		this.store.beforeRestore((claim) -> restored.countDown());
		this.store.afterCompletion(() -> {
			forget(this.key);
			completed.countDown();
			awaitLatch(restored);
			await().until(() -> one(database.store()).find(this.key).isPresent());
			await().until(() -> this.store.renewers()
				.stream()
				.allMatch((renewer) -> renewer.getState() == Thread.State.TIMED_WAITING));
		});
		IdempotentOperation renewedSoon = TestDatabase.operation(this.key, Mode.LEASED, null, Duration.ofSeconds(2));
		this.template.execute(renewedSoon, new TextCodec(), () -> {
			await().until(() -> !this.store.renewers().isEmpty());
			return "paid";
		});
		await().until(() -> one(database.store()).find(this.key)
			.filter((record) -> record.state() == State.IN_PROGRESS)
			.isEmpty());
	}

	@Test
	@Tag("promise-2")
	void renewalThatIsUnderWayDoesNotRestoreAKeyThatHasCompletedAndWasEvicted() {
		CountDownLatch renewing = new CountDownLatch(1);
		CountDownLatch evicted = new CountDownLatch(1);
		this.store.before(StoreCall.RENEW, (claim) -> {
			renewing.countDown();
			awaitLatch(evicted);
		});
		Duration lease = Duration.ofSeconds(3);
		this.template.execute(TestDatabase.operation(this.key, Mode.LEASED, null, lease), new TextCodec(), () -> {
			awaitLatch(renewing);
			return "paid";
		});
		database.store().records().orElseThrow().evict(this.key, false);
		evicted.countDown();
		IdempotencyKey other = TestDatabase.newKey();
		this.template.execute(TestDatabase.operation(other, Mode.LEASED, null, lease), new TextCodec(), () -> {
			// One thread renews, so the renewal of this key follows that of the first
			// one.
			await().until(() -> this.store.renewedKeys().contains(List.of(other)));
			return "paid";
		});
		assertThat(one(database.store()).find(this.key)).isEmpty();
	}

	private static void awaitLatch(CountDownLatch latch) {
		try {
			latch.await();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	@Test
	@Tag("promise-1")
	void claimThatWasRestoredAfterItsHandlerHadFailedIsReleased() throws InterruptedException {
		IdempotentOperation renewedSoon = TestDatabase.operation(this.key, Mode.LEASED, null, Duration.ofSeconds(1));
		CountDownLatch restoring = new CountDownLatch(1);
		CountDownLatch failed = new CountDownLatch(1);
		this.store.beforeRestore((claim) -> {
			restoring.countDown();
			awaitLatch(failed);
		});
		assertThatIllegalStateException().isThrownBy(() -> this.template.execute(renewedSoon, new TextCodec(), () -> {
			forget(this.key);
			assertThat(restoring.await(8, TimeUnit.SECONDS)).isTrue();
			throw new IllegalStateException("handler");
		})).withMessage("handler");
		failed.countDown();
		await().until(
				() -> one(database.store()).find(this.key).map(IdempotencyRecord::state).orElse(null) == State.FAILED);
	}

}
