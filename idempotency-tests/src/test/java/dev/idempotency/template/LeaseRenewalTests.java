/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OperationLostException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.IdempotentOperation.Handler;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.UnreliableStore;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the renewal of leases by an {@link IdempotencyTemplate}.
 */
@Order(3)
class LeaseRenewalTests {

	// Long enough to be renewed in time on a busy machine.
	private static final Duration LEASE = Duration.ofSeconds(2);

	// For keys that no other owner claims, so that an expiry does no harm.
	private static final Duration SHORT = Duration.ofMillis(600);

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final IdempotencyKey key = TestDatabase.newKey();

	private final RecordingObserver listener = new RecordingObserver();

	private final UnreliableStore store = new UnreliableStore(database.store());

	private final IdempotencyTemplate template = new IdempotencyTemplate(this.store,
			new Settings(null, false, this.listener.observers()));

	private final ExecutorService handlers = Executors.newCachedThreadPool();

	@AfterEach
	void close() {
		this.handlers.shutdownNow();
		this.template.close();
	}

	private static IdempotentOperation operation(IdempotencyKey key, Duration lease) {
		return TestDatabase.operation(key, Mode.LEASED, null, lease);
	}

	private <E extends Exception> void run(Duration lease, Handler<String, E> handler) throws E {
		this.template.execute(operation(this.key, lease), ResultCodec.none(), handler);
	}

	private boolean isFree(IdempotencyKey someKey) {
		return one(database.store()).claim(TestDatabase.request(someKey)) instanceof Claim.Acquired;
	}

	// A renewal may come between.
	private void takeOver() {
		await().until(() -> {
			database.endLease(this.key);
			return isFree(this.key);
		});
	}

	@Test
	@Tag("promise-2")
	@Tag("promise-7")
	@Tag("slow")
	void handlerThatRunsForTwoLeasesKeepsItsClaim() {
		run(LEASE, () -> {
			Instant end = database.record(this.key).claimedUntil().plus(LEASE);
			await().until(() -> database.record(this.key).claimedUntil().isAfter(end));
			assertThat(isFree(this.key)).isFalse();
			assertThat(IdempotentExecution.current().ownershipLost()).isFalse();
			return null;
		});
		assertThat(this.listener.outcomes()).containsExactly(Outcome.PROCESSED);
		assertThat(database.record(this.key).fence()).isOne();
	}

	@Test
	@Tag("promise-4")
	void handlerSeesTheLossOfItsKey() {
		assertThatExceptionOfType(OperationLostException.class).isThrownBy(() -> run(SHORT, () -> {
			IdempotentExecution execution = IdempotentExecution.current();
			takeOver();
			await().until(execution::ownershipLost);
			return null;
		})).withNoCause();
		assertThat(this.listener.outcomes()).containsExactly(Outcome.LOST);
		assertThat(database.record(this.key)).extracting(IdempotencyRecord::state, IdempotencyRecord::fence)
			.containsExactly(State.IN_PROGRESS, 2);
	}

	@Test
	@Tag("promise-2")
	@Tag("promise-4")
	void earlierClaimIsLostWhenAnotherThreadTakesTheKeyOver() {
		CountDownLatch end = new CountDownLatch(1);
		assertThatExceptionOfType(OperationLostException.class).isThrownBy(() -> this.template
			.execute(operation(this.key, SHORT), ResultCodec.none(), TransactionBoundary.deferred((pending) -> {
				throw new AssertionError("Its Kafka transaction would be committed");
			}), null, () -> {
				CountDownLatch begun = new CountDownLatch(1);
				await().until(() -> {
					database.endLease(this.key);
					this.handlers
						.submit(() -> this.template.execute(operation(this.key, LEASE), ResultCodec.none(), () -> {
							begun.countDown();
							end.await();
							return null;
						}));
					// A renewal may come between.
					return begun.await(1, TimeUnit.SECONDS);
				});
				assertThat(IdempotentExecution.current().ownershipLost()).isTrue();
				return null;
			})).withNoCause();
		end.countDown();
		await().until(() -> this.listener.outcomes().contains(Outcome.PROCESSED));
		assertThat(database.record(this.key)).extracting(IdempotencyRecord::state, IdempotencyRecord::fence)
			.containsExactly(State.COMPLETED, 2);
	}

	@Test
	@Tag("promise-4")
	void lostLeaseIsNotRenewedAnyMore() {
		assertThatExceptionOfType(OperationLostException.class).isThrownBy(() -> run(SHORT, () -> {
			IdempotentExecution execution = IdempotentExecution.current();
			takeOver();
			await().until(execution::ownershipLost);
			this.store.awaitEndOfRenewals(SHORT);
			return null;
		})).withNoCause();
	}

	@Test
	void manyHandlersAreRenewedInOneBatchByOneThread() throws Exception {
		int count = 20;
		// Renewals fail until all handlers run, so that all are due at one check, however
		// far apart they began.
		this.store.fail(StoreCall.RENEW);
		CountDownLatch end = new CountDownLatch(1);
		List<Future<?>> running = IntStream.range(0, count)
			.<Future<?>>mapToObj((i) -> this.handlers
				.submit(() -> this.template.execute(operation(TestDatabase.newKey(), SHORT), ResultCodec.none(), () -> {
					end.await();
					return null;
				})))
			.toList();
		await().until(() -> this.store.renewals().contains(count));
		this.store.recoverFrom(StoreCall.RENEW);
		int attempts = this.store.renewals().size();
		await().until(() -> this.store.renewals().lastIndexOf(count) >= attempts);
		end.countDown();
		for (Future<?> future : running) {
			future.get();
		}
		assertThat(this.store.renewers()).hasSize(1);
		assertThat(this.listener.storeCalls()).contains("unreliable RENEW");
		assertThat(this.listener.outcomes()).hasSize(count).containsOnly(Outcome.PROCESSED);
	}

	@Test
	@Tag("promise-2")
	void leaseThatCannotBeRenewedIsRenewedSeparatelyUntilItCan() {
		IdempotencyKey held = TestDatabase.newKey();
		AtomicInteger refusals = new AtomicInteger();
		this.store.before(StoreCall.RENEW, (claim) -> {
			if (claim.key().equals(held)) {
				refusals.incrementAndGet();
				throw new OperationInProgressException("Held", Duration.ofSeconds(1));
			}
		});
		this.template.execute(operation(held, SHORT), ResultCodec.none(), () -> {
			run(SHORT, () -> {
				await().until(() -> refusals.get() > renewedWith(held, 0));
				int together = this.store.renewals().size();
				await().until(() -> this.store.renewals().size() > together + 1);
				assertThat(renewedWith(held, together)).isZero();
				this.store.recover();
				await().until(() -> renewedWith(held, together) > 0);
				return null;
			});
			return null;
		});
		assertThat(this.listener.outcomes()).containsExactly(Outcome.PROCESSED, Outcome.PROCESSED);
	}

	private long renewedWith(IdempotencyKey someKey, int from) {
		return this.store.renewedKeys()
			.stream()
			.skip(from)
			.filter((keys) -> keys.size() > 1 && keys.contains(someKey))
			.count();
	}

	@Test
	void longLeaseIsNotRenewedAtEachCheckOfAShortOne() {
		this.template.execute(operation(TestDatabase.newKey(), TestDatabase.LEASE), ResultCodec.none(), () -> {
			run(SHORT, () -> {
				await().until(() -> this.store.renewals().size() >= 2);
				return null;
			});
			return null;
		});
		assertThat(this.store.renewals()).containsOnly(1);
	}

	@Test
	@Tag("promise-4")
	void executionShowsTheLossOfItsKeyAfterItsCompletion() {
		AtomicReference<IdempotentExecution> execution = new AtomicReference<>();
		assertThatExceptionOfType(OperationLostException.class).isThrownBy(() -> run(TestDatabase.LEASE, () -> {
			execution.set(IdempotentExecution.current());
			takeOver();
			return null;
		}));
		assertThat(execution.get().ownershipLost()).isTrue();
	}

	@Test
	void shortHandlerIsNotRenewed() {
		run(LEASE, () -> null);
		assertThat(this.listener.storeCalls()).containsExactly("unreliable CLAIM", "unreliable COMPLETE");
	}

	@Test
	void renewalEndsWithTheHandler() {
		run(SHORT, () -> {
			await().until(() -> !this.store.renewals().isEmpty());
			return null;
		});
		this.store.awaitEndOfRenewals(SHORT);
	}

	@Test
	void renewalEndsWithAHandlerThatFails() {
		assertThatExceptionOfType(IllegalStateException.class).isThrownBy(() -> run(SHORT, () -> {
			await().until(() -> !this.store.renewals().isEmpty());
			throw new IllegalStateException("handler");
		}));
		this.store.awaitEndOfRenewals(SHORT);
		assertThat(isFree(this.key)).isTrue();
	}

	@Test
	@Tag("promise-11")
	void renewalThatFailsIsRepeatedWithinTheLease() {
		this.store.fail(StoreCall.RENEW);
		run(SHORT, () -> {
			await().until(() -> this.store.renewals().size() >= 2);
			this.store.recover();
			await().until(() -> this.listener.storeCalls().contains("unreliable RENEW"));
			return null;
		});
		assertThat(this.listener.outcomes()).containsExactly(Outcome.PROCESSED);
		assertThat(this.listener.storeCalls()).contains("unreliable RENEW unavailable", "unreliable RENEW");
	}

	@Test
	@Tag("promise-7")
	void stoppingApplicationKeepsTheLeaseUntilItsHandlerHasCompleted() {
		run(SHORT, () -> {
			await().until(() -> !this.store.renewals().isEmpty());
			this.template.close();
			return null;
		});
		assertThat(database.record(this.key).state()).isEqualTo(State.COMPLETED);
	}

	@Test
	void interruptedHandlerIsCompletedAndStaysInterrupted() throws Exception {
		boolean interrupted = this.handlers.submit(() -> {
			run(SHORT, () -> {
				Thread.currentThread().interrupt();
				return null;
			});
			return Thread.currentThread().isInterrupted();
		}).get();
		assertThat(interrupted).isTrue();
		assertThat(database.record(this.key).state()).isEqualTo(State.COMPLETED);
	}

	@Test
	@Tag("promise-2")
	void errorInARenewalDoesNotEndRenewals() {
		AtomicBoolean first = new AtomicBoolean(true);
		this.store.before(StoreCall.RENEW, (claim) -> {
			if (first.getAndSet(false)) {
				throw new OutOfMemoryError("as it were");
			}
		});
		run(SHORT, () -> {
			await().until(() -> this.listener.storeCalls().contains("unreliable RENEW"));
			return null;
		});
		assertThat(first).isFalse();
	}

	@Test
	@Tag("promise-2")
	@Tag("slow")
	void slowSettlementDoesNotPreventTheRenewalOfOtherLeases() throws InterruptedException {
		this.store.fail(StoreCall.FAIL);
		assertThatExceptionOfType(IllegalStateException.class)
			.isThrownBy(() -> this.template.execute(operation(TestDatabase.newKey(), LEASE), ResultCodec.none(), () -> {
				throw new IllegalStateException("handler");
			}));
		this.store.recover();
		CountDownLatch begun = new CountDownLatch(1);
		CountDownLatch end = new CountDownLatch(1);
		this.store.before(StoreCall.FAIL, (claim) -> {
			begun.countDown();
			awaitLatch(end);
		});
		run(LEASE, () -> {
			begun.await();
			int renewals = this.store.renewals().size();
			await().until(() -> this.store.renewals().size() >= renewals + 2);
			assertThat(isFree(this.key)).isFalse();
			end.countDown();
			return null;
		});
	}

	@Test
	@Tag("promise-2")
	@Tag("slow")
	void leaseLivesWhileItsCompletionIsUnderWay() {
		this.store.before(StoreCall.COMPLETE, (claim) -> {
			int renewals = this.store.renewals().size();
			await().until(() -> this.store.renewals().size() >= renewals + 2);
			assertThat(isFree(this.key)).isFalse();
		});
		run(LEASE, () -> null);
		assertThat(this.listener.outcomes()).containsExactly(Outcome.PROCESSED);
	}

	@Test
	@Tag("promise-2")
	@Tag("slow")
	void keyThatCannotBeRenewedDoesNotPreventTheRenewalOfOthers() throws Exception {
		this.store.renewOneByOne();
		List<IdempotencyKey> keys = IntStream.range(0, 6).mapToObj((i) -> TestDatabase.newKey()).toList();
		this.store.before(StoreCall.RENEW, (claim) -> {
			if (keys.indexOf(claim.key()) % 2 == 0) {
				throw new OperationInProgressException("Held", Duration.ofSeconds(1));
			}
		});
		CountDownLatch end = new CountDownLatch(1);
		List<Future<?>> running = keys.stream()
			.<Future<?>>map((someKey) -> this.handlers
				.submit(() -> this.template.execute(operation(someKey, LEASE), ResultCodec.none(), () -> {
					end.await();
					return null;
				})))
			.toList();
		// One key after the other, because the check claims a free key.
		for (int i = 0; i < keys.size(); i += 2) {
			IdempotencyKey held = keys.get(i);
			await().until(() -> isFree(held));
		}
		assertThat(List.of(isFree(keys.get(1)), isFree(keys.get(3)), isFree(keys.get(5)))).containsOnly(false);
		end.countDown();
		for (int i = 1; i < running.size(); i += 2) {
			running.get(i).get();
		}
	}

	private static void awaitLatch(CountDownLatch latch) {
		try {
			assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	@ParameterizedTest
	@MethodSource("conditionsOfOneRecord")
	@Tag("promise-4")
	void recordThatCannotBeRenewedDoesNotHideThatAnotherClaimIsLost(RuntimeException condition) {
		IdempotencyKey held = TestDatabase.newKey();
		this.store.before(StoreCall.RENEW, (claim) -> {
			if (claim.key().equals(held)) {
				throw condition;
			}
		});
		this.template.execute(operation(held, LEASE), ResultCodec.none(), () -> {
			assertThatExceptionOfType(OperationLostException.class).isThrownBy(() -> run(LEASE, () -> {
				database.endLease(this.key);
				assertThat(isFree(this.key)).isTrue();
				await().until(IdempotentExecution.current()::ownershipLost);
				return null;
			})).withNoCause();
			return null;
		});
		assertThat(this.listener.outcomes()).containsExactly(Outcome.LOST, Outcome.PROCESSED);
	}

	static List<RuntimeException> conditionsOfOneRecord() {
		return List.of(new OperationInProgressException("Held", Duration.ofSeconds(1)),
				new IdempotencyRecordUnreadableException("Not a record", null));
	}

	@Test
	@Tag("promise-2")
	@Tag("promise-4")
	@Tag("slow")
	void lateAnswerToAClaimDoesNotTakeTheLeaseOfItsSuccessor() throws Exception {
		CountDownLatch claimed = new CountDownLatch(1);
		CountDownLatch answered = new CountDownLatch(1);
		AtomicBoolean first = new AtomicBoolean(true);
		this.store.afterClaim((claim) -> {
			if (first.getAndSet(false)) {
				claimed.countDown();
				awaitLatch(answered);
			}
		});
		Future<Boolean> late = this.handlers.submit(() -> {
			try {
				run(LEASE, () -> {
					await().until(IdempotentExecution.current()::ownershipLost);
					return null;
				});
				return false;
			}
			catch (OperationLostException ex) {
				return true;
			}
		});
		claimed.await();
		database.endLease(this.key);
		run(LEASE, () -> {
			answered.countDown();
			assertThat(late.get()).isTrue();
			int renewals = this.store.renewals().size();
			await().until(() -> this.store.renewals().size() >= renewals + 2);
			assertThat(IdempotentExecution.current().ownershipLost()).isFalse();
			assertThat(isFree(this.key)).isFalse();
			return null;
		});
		assertThat(this.listener.outcomes()).containsExactly(Outcome.LOST, Outcome.PROCESSED);
	}

	@Test
	@Tag("promise-2")
	@Tag("slow")
	void leasesAreRenewedUntilTheLastSettlementOfTheApplication() {
		CountDownLatch closing = new CountDownLatch(1);
		AtomicBoolean free = new AtomicBoolean(true);
		this.store.before(StoreCall.COMPLETE, (claim) -> {
			awaitLatch(closing);
			int renewals = this.store.renewals().size();
			await().until(() -> this.store.renewals().size() >= renewals + 3);
			free.set(isFree(this.key));
		});
		this.template.executeAsync(operation(this.key, LEASE), ResultCodec.none(),
				() -> CompletableFuture.completedFuture(null));
		closing.countDown();
		this.template.close();
		assertThat(free).isFalse();
		assertThat(database.record(this.key).state()).isEqualTo(State.COMPLETED);
	}

}
