/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.dao.QueryTimeoutException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.util.unit.DataSize;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.Mode;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OperationLostException;
import dev.idempotency.StalePolicy;
import dev.idempotency.resilience4j.Resilience4jStoreCircuit;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.OffsetMarks;
import dev.idempotency.store.TransactionalIdempotencyStore;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.StoreMethod;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

/**
 * Tests for operations that end in an unusual way: lists and messages that cannot be
 * read, stores that do not answer, declines that cannot be stored, and cancellations.
 */
class UnusualEndTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	final RecordingObserver observer = new RecordingObserver();

	final JdbcTransactionManager manager = new JdbcTransactionManager(database.pool());

	final TransactionTemplate transactions = new TransactionTemplate(this.manager);

	final JdbcTemplate jdbc = new JdbcTemplate(database.pool());

	final IdempotencyKey key = TestDatabase.newKey();

	final String effect = Servers.unique("effect");

	final CircuitBreaker breaker = CircuitBreaker.of("store",
			CircuitBreakerConfig.custom().permittedNumberOfCallsInHalfOpenState(1).build());

	@Nullable IdempotencyTemplate template;

	UnusualEndTests() {
		database.jdbc().execute("CREATE TABLE IF NOT EXISTS effect (name varchar(100))");
	}

	IdempotencyTemplate template(IdempotencyStore store, @Nullable StoredOutcomeTransformer transformer) {
		this.template = new IdempotencyTemplate(store,
				new Settings(null, this.manager, false, new Resilience4jStoreCircuit(this.breaker),
						CompletionCache.NONE, this.observer.observers(), List.of(), DataSize.ofKilobytes(1),
						transformer, OperationSpec.Defaults.STANDARD));
		return this.template;
	}

	IdempotencyTemplate template() {
		return template(database.store(), null);
	}

	@AfterEach
	void close() {
		if (this.template != null) {
			this.template.close();
		}
	}

	void insert() {
		this.jdbc.update("INSERT INTO effect VALUES (?)", this.effect);
	}

	IdempotentResult<String> pay(IdempotencyTemplate payments, IdempotentOperation operation) {
		return payments.execute(operation, new TextCodec(), () -> {
			insert();
			return "done";
		});
	}

	IdempotentOperation positioned(UUID topic, int index) {
		OffsetPosition position = new OffsetPosition(this.effect, 0, 5 + index, new OffsetPosition.TopicIdentity() {

			@Override
			public UUID get() {
				return topic;
			}

			@Override
			public void confirm() {
			}

		});
		return new IdempotentOperation(IdempotencyKey.of("scope", this.effect + index), "payments", "o" + index,
				Mode.TRANSACTIONAL, null, Duration.ofMinutes(1), Duration.ofHours(1), position, null);
	}

	int effects() {
		return database.jdbc().queryForObject("SELECT count(*) FROM effect WHERE name = ?", Integer.class, this.effect);
	}

	@Test
	@Tag("promise-5")
	void listThatIsClearedAfterTheTransactionWasItsResult() {
		List<String> values = new ArrayList<>();
		BatchResult<String> result = template().executeAll(
				List.of(new BatchItem(TestDatabase.operation(this.key, Mode.TRANSACTIONAL), 0)), new TextCodec(),
				(due) -> {
					insert();
					values.add("done");
					TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

						@Override
						public void afterCompletion(int status) {
							values.clear();
						}

					});
					return values;
				});
		assertThat(result.results().get(0).result()).isEqualTo("done");
		assertThat(this.observer.outcomes()).containsExactly(Outcome.PROCESSED);
	}

	// A view, such as Lists.transform() of Guava.
	@Test
	@Tag("promise-1")
	void listWhoseElementFailsIsAFailureOfTheHandler() {
		List<String> view = new AbstractList<>() {

			@Override
			public String get(int index) {
				if (index == 1) {
					throw new IllegalStateException("element");
				}
				return "done";
			}

			@Override
			public int size() {
				return 2;
			}

		};
		IdempotencyKey second = TestDatabase.newKey();
		Throwable thrown = catchThrowable(() -> template().executeAll(
				List.of(new BatchItem(TestDatabase.operation(this.key, Mode.LEASED), 0),
						new BatchItem(TestDatabase.operation(second, Mode.LEASED), 1)),
				new TextCodec(), (due) -> view));
		assertThat(database.record(this.key).state()).isEqualTo(IdempotencyRecord.State.FAILED);
		assertThat(database.record(second).state()).isEqualTo(IdempotencyRecord.State.FAILED);
		assertThat(this.observer.outcomes()).containsExactly(Outcome.FAILED, Outcome.FAILED);
		assertThat(thrown).isNull();
	}

	@Test
	@Tag("promise-5")
	void listIsReadOnceInTheTransaction() {
		AtomicInteger outside = new AtomicInteger();
		List<String> view = new AbstractList<>() {

			@Override
			public String get(int index) {
				if (index == 1) {
					outside.addAndGet(TransactionSynchronizationManager.isActualTransactionActive() ? 0 : 1);
					insert();
				}
				return "done";
			}

			@Override
			public int size() {
				return 2;
			}

		};
		template().executeAll(
				List.of(new BatchItem(TestDatabase.operation(this.key, Mode.TRANSACTIONAL), 0),
						new BatchItem(TestDatabase.operation(TestDatabase.newKey(), Mode.TRANSACTIONAL), 1)),
				new TextCodec(), (due) -> view);
		assertThat(outside).hasValue(0);
		assertThat(effects()).isOne();
	}

	// Like an order whose toString() contains its lines, whose toString() contains the
	@ParameterizedTest
	@EnumSource(value = Mode.class, names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-1")
	void failureWhoseMessageOverflowsIsRecorded(Mode mode) {
		CyclicMessage failure = new CyclicMessage();
		AtomicReference<Class<?>> thrown = new AtomicReference<>();
		try {
			template().execute(TestDatabase.operation(this.key, mode), new TextCodec(), () -> {
				throw failure;
			});
		}
		catch (Throwable ex) {
			thrown.set(ex.getClass());
		}
		assertThat(thrown.get()).isEqualTo(CyclicMessage.class);
		assertThat(one(database.store()).find(this.key).map(IdempotencyRecord::state))
			.contains(IdempotencyRecord.State.FAILED);
	}

	@Test
	@Tag("promise-11")
	void failureWhoseMessageOverflowsGivesThePermissionOfTheCircuitBack() {
		IdempotencyTemplate template = template();
		try {
			this.transactions.executeWithoutResult((status) -> template
				.execute(TestDatabase.operation(this.key, Mode.TRANSACTIONAL), new TextCodec(), () -> {
					// The circuit becomes half open before the rollback of the caller.
					this.breaker.transitionToOpenState();
					this.breaker.transitionToHalfOpenState();
					throw new CyclicMessage();
				}));
		}
		catch (CyclicMessage | StackOverflowError ex) {
			// The caller sees the failure.
		}
		template.settle();
		// With one permission, no operation of any key is run any more.
		assertThatNoException().isThrownBy(() -> template
			.execute(TestDatabase.operation(TestDatabase.newKey(), Mode.TRANSACTIONAL), new TextCodec(), () -> "done"));
	}

	@Test
	@Tag("promise-8")
	void resultThatCannotBeWrittenDoesNotRepeatTheEffect() {
		ResultCodec<String> codec = new ResultCodec<>() {

			@Override
			public byte @Nullable [] write(@Nullable String result) {
				throw new AssertionError("a getter");
			}

			@Override
			public String read(byte[] bytes) {
				return "";
			}

		};
		IdempotencyTemplate template = template();
		for (int i = 0; i < 2; i++) {
			catchThrowable(() -> template.execute(TestDatabase.operation(this.key, Mode.LEASED), codec, () -> {
				insert();
				return "done";
			}));
			database.endLease(this.key);
		}
		assertThat(effects()).isOne();
		assertThat(this.observer.outcomes()).containsExactly(Outcome.PROCESSED, Outcome.DUPLICATE);
	}

	@ParameterizedTest
	@EnumSource(value = Mode.class, names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-8")
	void firstDeliveryOfADeclineThatIsTooLargeAnswers(Mode mode) {
		BatchResult<String> result = template().executeAll(
				List.of(new BatchItem(TestDatabase.operation(this.key, mode), 0)), new TextCodec(),
				new DeclineHandler("x".repeat(2000)));
		assertThat(result.results().get(0).declineReason()).isEqualTo("balance too low");
		assertThat(result.results().get(0).result()).hasSize(2000);
	}

	@ParameterizedTest
	@EnumSource(value = Mode.class, names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-8")
	void firstDeliveryOfADeclineThatCannotBeReadIsNotRejected(Mode mode) {
		StoredOutcomeTransformer lostKey = new StoredOutcomeTransformer() {

			@Override
			public byte[] toStored(IdempotencyKey key, byte[] outcome) {
				return new byte[] { 1, 2, 3 };
			}

			@Override
			public byte[] fromStored(IdempotencyKey key, byte[] stored) {
				throw new IllegalStateException("no key");
			}

			@Override
			public @Nullable String failureMessage(Throwable error) {
				return null;
			}

		};
		BatchResult<String> result = template(database.store(), lostKey).executeAll(
				List.of(new BatchItem(TestDatabase.operation(this.key, mode), 0)), new TextCodec(),
				new DeclineHandler("body"));
		assertThat(database.record(this.key).state()).isEqualTo(IdempotencyRecord.State.COMPLETED);
		assertThat(this.observer.outcomes()).containsExactly(Outcome.DECLINED);
		assertThat(result.failure()).isNull();
	}

	@ParameterizedTest
	@EnumSource(value = Mode.class, names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-8")
	void firstDeclineIsNoDuplicate(Mode mode) {
		BatchResult<String> result = template().executeAll(
				List.of(new BatchItem(TestDatabase.operation(this.key, mode), 0)), new TextCodec(),
				new DeclineHandler("body"));
		assertThat(result.results().get(0).duplicate()).isFalse();
	}

	@ParameterizedTest
	@EnumSource(value = Mode.class, names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-9")
	void versionIsNotStaleWhileTheHigherOneIsBlocked(Mode mode) {
		List<BatchItem> items = List.of(new BatchItem(TestDatabase.operation(this.key, mode, 4, StalePolicy.SKIP), 0),
				new BatchItem(TestDatabase.operation(this.key, mode, 2, StalePolicy.REJECT), 0));
		BatchResult<String> result = template().executeAll(items, new TextCodec(), new BatchHandler<String>() {

			@Override
			public List<@Nullable String> handle(List<Integer> due) {
				throw new OperationInProgressException("another operation", Duration.ofSeconds(1));
			}

			@Override
			public int failedAt(Throwable error) {
				return 0;
			}

		});
		assertThat(one(database.store()).find(this.key).filter((r) -> r.state() == IdempotencyRecord.State.COMPLETED))
			.isEmpty();
		// Nothing has completed, so nothing is stale.
		assertThat(result.failure()).isNull();
		assertThat(this.observer.outcomes()).doesNotContain(Outcome.STALE);
		assertThat(pay(this.template, TestDatabase.operation(this.key, mode, 2, StalePolicy.REJECT)).duplicate())
			.isFalse();
	}

	@ParameterizedTest
	@CsvSource({ "null", "short", "element" })
	@Tag("promise-11")
	void completionWithoutAnAnswerIsPending(String kind) {
		AtomicBoolean first = new AtomicBoolean(true);
		IdempotencyStore store = (IdempotencyStore) Proxy.newProxyInstance(getClass().getClassLoader(),
				new Class<?>[] { IdempotencyStore.class }, (proxy, method, arguments) -> {
					if (StoreMethod.name(method, arguments).equals("settleCompleted") && first.getAndSet(false)) {
						return switch (kind) {
							case "null" -> null;
							case "short" -> List.of();
							default -> Collections.singletonList(null);
						};
					}
					return method.invoke(database.store(), arguments);
				});
		IdempotencyTemplate template = template(store, null);
		Throwable thrown = catchThrowable(() -> pay(template, TestDatabase.operation(this.key, Mode.LEASED)));
		template.settle();
		// As if no retry had helped before the end of the lease.
		database.endLease(this.key);
		catchThrowable(() -> pay(template, TestDatabase.operation(this.key, Mode.LEASED)));
		assertThat(effects()).isOne();
		assertThat(thrown).isInstanceOf(IdempotencyStoreRefusedException.class);
	}

	@Test
	@Tag("promise-14")
	void failureWithoutAnAnswerDoesNotReplaceTheException() {
		IdempotencyStore store = (IdempotencyStore) Proxy.newProxyInstance(getClass().getClassLoader(),
				new Class<?>[] { TransactionalIdempotencyStore.class },
				(proxy, method,
						arguments) -> StoreMethod.name(method, arguments)
							.matches("settleFailed|settleAfterTransactionFailed") ? List.of()
									: method.invoke(database.store(), arguments));
		assertThatIllegalStateException().isThrownBy(() -> template(store, null)
			.execute(TestDatabase.operation(this.key, Mode.LEASED), new TextCodec(), () -> {
				throw new IllegalStateException("handler");
			})).withMessage("handler");
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	@Tag("promise-1")
	void declineBehindAnItemThatIsNotDoneIsNotDone(boolean fails) {
		UUID id = UUID.randomUUID();
		List<BatchItem> items = new ArrayList<>();
		for (int i = 0; i < 2; i++) {
			items.add(new BatchItem(positioned(id, i), 0));
		}
		AtomicInteger runs = new AtomicInteger();
		AtomicInteger declines = new AtomicInteger();
		BatchHandler<String> handler = new BatchHandler<>() {

			int at;

			@Override
			public List<@Nullable String> handle(List<Integer> due) {
				for (int p = 0; p < due.size(); p++) {
					this.at = p;
					if (due.get(p) == 0 && runs.incrementAndGet() == 2) {
						throw fails ? new IllegalStateException("second")
								: new OperationInProgressException("second", Duration.ofMillis(1));
					}
					if (due.get(p) == 1) {
						declines.incrementAndGet();
						throw new OperationDeclinedException("no");
					}
				}
				return Collections.nCopies(due.size(), "done");
			}

			@Override
			public int failedAt(Throwable error) {
				return this.at;
			}

			@Override
			public @Nullable OperationDeclinedException declinedBy(Throwable error) {
				return (error instanceof OperationDeclinedException declined) ? declined : null;
			}

		};
		IdempotencyTemplate template = template();
		BatchResult<String> result = template.executeAll(items, new TextCodec(), handler);
		long marks = database.jdbc()
			.queryForObject("SELECT count(*) FROM " + TestDatabase.TABLE + "_offset WHERE topic = ?", Long.class,
					this.effect);
		assertThat(marks).isZero();
		template.executeAll(items, new TextCodec(), handler);
		assertThat(result.results().get(1)).as("done, but not recorded").isNull();
	}

	@Test
	@Tag("promise-1")
	void declineBehindAnItemThatCannotBeClaimedAgainIsNotDone() {
		AtomicInteger raised = new AtomicInteger();
		OffsetMarks marks = database.store().offsetMarks().orElseThrow();
		OffsetMarks unavailable = (OffsetMarks) Proxy.newProxyInstance(getClass().getClassLoader(),
				new Class<?>[] { OffsetMarks.class }, (proxy, method, arguments) -> {
					if (method.getName().equals("raise") && raised.incrementAndGet() == 2) {
						throw new DataAccessResourceFailureException("outage");
					}
					return method.invoke(marks, arguments);
				});
		IdempotencyStore store = (IdempotencyStore) Proxy.newProxyInstance(getClass().getClassLoader(),
				new Class<?>[] { TransactionalIdempotencyStore.class },
				(proxy, method, arguments) -> method.getName().equals("offsetMarks") ? Optional.of(unavailable)
						: method.invoke(database.store(), arguments));
		UUID id = UUID.randomUUID();
		List<BatchItem> items = List.of(new BatchItem(positioned(id, 0), 0), new BatchItem(positioned(id, 1), 0));
		BatchResult<String> result = template(store, null).executeAll(items, new TextCodec(),
				new DeclineHandler("body") {

					@Override
					public List<@Nullable String> handle(List<Integer> due) {
						return due.contains(1) ? super.handle(due) : Collections.nCopies(due.size(), "done");
					}

					@Override
					public int failedAt(Throwable error) {
						return 1;
					}

				});
		assertThat(raised).hasValue(2);
		assertThat(result.blocked()).containsKey(0);
		assertThat(result.results()).containsExactly(null, null);
		assertThat(this.observer.outcomes()).doesNotContain(Outcome.DECLINED);
	}

	// Another delivery completes the key between the rollback and the decline.
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	@Tag("promise-3")
	void declineOfAnOperationThatAnotherDeliveryHasCompletedIsADuplicate(boolean batch) {
		AtomicBoolean first = new AtomicBoolean(true);
		IdempotencyStore store = (IdempotencyStore) Proxy.newProxyInstance(getClass().getClassLoader(),
				new Class<?>[] { TransactionalIdempotencyStore.class }, (proxy, method, arguments) -> {
					if (method.getName().equals("claimInTransaction") && first.getAndSet(false)) {
						ClaimRequest other = TestDatabase.request(this.key);
						one(database.store()).claim(other);
						one(database.store()).complete(other, new TextCodec().write("theirs"));
					}
					return method.invoke(database.store(), arguments);
				});
		IdempotentOperation operation = TestDatabase.operation(this.key, Mode.TRANSACTIONAL);
		IdempotencyTemplate template = template(store, null);
		DeclineHandler decline = new DeclineHandler("body");
		IdempotentResult<String> result = batch
				? template.executeAll(List.of(new BatchItem(operation, 0)), new TextCodec(), decline).results().get(0)
				: template.execute(operation, new TextCodec(), () -> decline.handle(List.of(0)).get(0));
		assertThat(result).isEqualTo(new IdempotentResult<>("theirs", true));
		assertThat(this.observer.outcomes()).containsExactly(Outcome.DUPLICATE);
	}

	// Nothing has happened twice, so no alert may be raised.
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	@Tag("promise-4")
	void failureOfAnOperationThatAnotherOwnerHasCompletedIsNotReportedAsLost(boolean batch) {
		IdempotentOperation operation = TestDatabase.operation(this.key, Mode.TRANSACTIONAL);
		IdempotentOperation.Handler<String, RuntimeException> handler = () -> {
			TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

				@Override
				public void afterCompletion(int status) {
					ClaimRequest other = TestDatabase.request(UnusualEndTests.this.key);
					one(database.store()).claim(other);
					one(database.store()).complete(other, null);
				}

			});
			throw new IllegalStateException("fails");
		};
		Throwable thrown = batch ? template()
			.executeAll(List.of(new BatchItem(operation, 0)), new TextCodec(), (due) -> List.of(handler.handle()))
			.blocked()
			.get(0) : catchThrowable(() -> template().execute(operation, new TextCodec(), handler));
		assertThat(thrown).isInstanceOf(OperationLostException.class).hasRootCauseMessage("fails");
		assertThat(this.observer.outcomes()).containsExactly(Outcome.FAILED);
		assertThat(pay(this.template, operation).duplicate()).isTrue();
	}

	@ParameterizedTest
	@EnumSource(value = Mode.class, names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-9")
	void copyWithOtherContentIsBlockedWithTheFirstItemOfItsKey(Mode mode) {
		one(database.store()).claim(TestDatabase.request(this.key));
		List<BatchItem> items = List.of(new BatchItem(
				TestDatabase.operation(this.key, mode, Fingerprint.of(new byte[] { 1 }), TestDatabase.LEASE), 0),
				new BatchItem(
						TestDatabase.operation(this.key, mode, Fingerprint.of(new byte[] { 2 }), TestDatabase.LEASE),
						1));
		BatchResult<String> result = template().executeAll(items, new TextCodec(), (due) -> List.of("done"));
		assertThat(result.failure()).isNull();
		assertThat(result.blocked()).containsOnlyKeys(0, 1);
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	@Tag("promise-14")
	void operationThatEndsWithAnErrorIsReported(boolean batch) {
		IdempotencyStore store = (IdempotencyStore) Proxy.newProxyInstance(getClass().getClassLoader(),
				new Class<?>[] { IdempotencyStore.class }, (proxy, method, arguments) -> {
					if (method.getName().equals("claim")) {
						throw new NoClassDefFoundError("driver");
					}
					return method.invoke(database.store(), arguments);
				});
		IdempotencyTemplate template = template(store, null);
		catchThrowable(() -> {
			if (batch) {
				template.executeAll(List.of(new BatchItem(TestDatabase.operation(this.key, Mode.LEASED), 0)),
						new TextCodec(), (due) -> List.of("done"));
			}
			else {
				template.execute(TestDatabase.operation(this.key, Mode.LEASED), new TextCodec(), () -> "done");
			}
		});
		assertThat(this.observer.outcomes()).containsExactly(Outcome.REFUSED);
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	@Tag("promise-14")
	void cancellationDuringTheCompletionIsNoFailure(boolean outage) throws Exception {
		CountDownLatch called = new CountDownLatch(1);
		CountDownLatch answer = new CountDownLatch(1);
		AtomicInteger calls = new AtomicInteger();
		IdempotencyStore store = (IdempotencyStore) Proxy.newProxyInstance(getClass().getClassLoader(),
				new Class<?>[] { IdempotencyStore.class }, (proxy, method, arguments) -> {
					if (StoreMethod.name(method, arguments).equals("settleCompleted")) {
						if (outage && calls.incrementAndGet() == 1) {
							called.countDown();
							throw new DataAccessResourceFailureException("outage");
						}
						called.countDown();
						answer.await();
					}
					return method.invoke(database.store(), arguments);
				});
		IdempotencyTemplate template = template(store, null);
		CompletableFuture<IdempotentResult<String>> future = template
			.executeAsync(TestDatabase.operation(this.key, Mode.LEASED), new TextCodec(), () -> {
				insert();
				return CompletableFuture.completedFuture("done");
			});
		called.await();
		future.cancel(true);
		answer.countDown();
		template.settle();
		await().until(() -> !this.observer.outcomes().isEmpty());
		assertThat(database.record(this.key).state()).isEqualTo(IdempotencyRecord.State.COMPLETED);
		assertThat(this.observer.outcomes()).containsExactly(Outcome.PROCESSED);
	}

	@Test
	@Tag("promise-11")
	void completionWithAClaimAheadWithoutAnAnswerIsRepeated() {
		AtomicBoolean first = new AtomicBoolean(true);
		IdempotencyStore store = (IdempotencyStore) Proxy.newProxyInstance(getClass().getClassLoader(),
				new Class<?>[] { IdempotencyStore.class },
				(proxy, method, arguments) -> (method.getName().equals("completeAndClaim") && first.getAndSet(false))
						? null : method.invoke(database.store(), arguments));
		IdempotencyTemplate template = template(store, null);
		IdempotentOperation next = TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED);
		ClaimAhead ahead = template.claimAhead(() -> next);
		ahead.begin();
		catchThrowable(() -> template.execute(TestDatabase.operation(this.key, Mode.LEASED), new TextCodec(),
				TransactionBoundary.DEFAULT, ahead, () -> {
					insert();
					return "done";
				}));
		ahead.release();
		template.settle();
		database.endLease(this.key);
		catchThrowable(() -> pay(template, TestDatabase.operation(this.key, Mode.LEASED)));
		assertThat(effects()).isOne();
	}

	@Test
	@Tag("promise-11")
	void unprotectedOperationIsCommittedWithItsCallerAfterAClaimThatTimedOut() {
		IdempotencyStore store = (IdempotencyStore) Proxy.newProxyInstance(getClass().getClassLoader(),
				new Class<?>[] { TransactionalIdempotencyStore.class }, (proxy, method, arguments) -> {
					if (method.getName().equals("claimInTransaction")) {
						throw new QueryTimeoutException("undone by its savepoint");
					}
					return method.invoke(database.store(), arguments);
				});
		this.template = new IdempotencyTemplate(store, new Settings(this.manager, true, this.observer.observers()));
		this.transactions
			.executeWithoutResult((status) -> pay(this.template, TestDatabase.operation(this.key, Mode.TRANSACTIONAL)));
		assertThat(effects()).isOne();
		assertThat(this.observer.outcomes()).containsExactly(Outcome.UNPROTECTED);
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	@Tag("promise-1")
	void offsetIsNotMarkedByTheCommitOfItsCallerWithoutAnAnswer(boolean element) {
		OffsetMarks marks = database.store().offsetMarks().orElseThrow();
		AtomicBoolean first = new AtomicBoolean(true);
		OffsetMarks silent = (OffsetMarks) Proxy.newProxyInstance(getClass().getClassLoader(),
				new Class<?>[] { OffsetMarks.class }, (proxy, method, arguments) -> {
					Object answer = method.invoke(marks, arguments);
					return (!method.getName().equals("raise") || !first.getAndSet(false)) ? answer
							: element ? Collections.singletonList((Object) null) : List.of();
				});
		IdempotencyStore store = (IdempotencyStore) Proxy.newProxyInstance(getClass().getClassLoader(),
				new Class<?>[] { TransactionalIdempotencyStore.class },
				(proxy, method, arguments) -> method.getName().equals("offsetMarks") ? Optional.of(silent)
						: method.invoke(database.store(), arguments));
		this.template = template(store, null);
		IdempotentOperation operation = positioned(UUID.randomUUID(), 0);
		AtomicReference<Throwable> thrown = new AtomicReference<>();
		catchThrowable(() -> this.transactions
			.executeWithoutResult((status) -> thrown.set(catchThrowable(() -> pay(this.template, operation)))));
		pay(this.template, operation);
		assertThat(effects()).isOne();
		assertThat(thrown.get()).isInstanceOf(IdempotencyStoreRefusedException.class);
	}

	@ParameterizedTest
	@ValueSource(strings = { "observer", "short", "element" })
	@Tag("promise-1")
	void operationThatDidNotRunIsNotCompletedByTheCommitOfItsCaller(String kind) {
		AtomicBoolean first = new AtomicBoolean(true);
		StoreObserver broken = new StoreObserver() {

			@Override
			public void storeCalled(String store, StoreCall call, StoreOutcome outcome, Duration duration) {
				if (kind.equals("observer") && first.getAndSet(false)) {
					throw new NoClassDefFoundError("of an observer");
				}
			}

		};
		IdempotencyStore store = (IdempotencyStore) Proxy.newProxyInstance(getClass().getClassLoader(),
				new Class<?>[] { TransactionalIdempotencyStore.class }, (proxy, method, arguments) -> {
					Object answer = method.invoke(database.store(), arguments);
					boolean answered = !method.getName().equals("claimInTransaction") || kind.equals("observer")
							|| !first.getAndSet(false);
					return answered ? answer
							: kind.equals("short") ? List.of() : Collections.singletonList((Object) null);
				});
		this.template = new IdempotencyTemplate(store,
				new Settings(null, this.manager, false, StoreCircuit.ALWAYS_CLOSED, CompletionCache.NONE,
						new Observers(List.of(this.observer), List.of(broken)), List.of(), DataSize.ofKilobytes(1),
						null, OperationSpec.Defaults.STANDARD));
		AtomicReference<Throwable> thrown = new AtomicReference<>();
		catchThrowable(() -> this.transactions.executeWithoutResult((status) -> thrown
			.set(catchThrowable(() -> pay(this.template, TestDatabase.operation(this.key, Mode.TRANSACTIONAL))))));
		this.template.settle();
		IdempotentResult<String> second = pay(this.template, TestDatabase.operation(this.key, Mode.TRANSACTIONAL));
		assertThat(effects()).as("after the second delivery, duplicate " + second.duplicate()).isOne();
	}

	// order.
	static final class CyclicMessage extends RuntimeException {

		private final List<Object> order = new ArrayList<>();

		@Override
		public String getMessage() {
			return "refused: " + text(this);
		}

		private String text(Object other) {
			return "order of " + text(other) + this.order;
		}

	}

	static class DeclineHandler implements BatchHandler<String> {

		private final String body;

		DeclineHandler(String body) {
			this.body = body;
		}

		@Override
		public List<@Nullable String> handle(List<Integer> due) {
			throw new OperationDeclinedException("balance too low", this.body);
		}

		@Override
		public int failedAt(Throwable error) {
			return 0;
		}

		@Override
		public @Nullable OperationDeclinedException declinedBy(Throwable error) {
			return (OperationDeclinedException) error;
		}

	}

}
