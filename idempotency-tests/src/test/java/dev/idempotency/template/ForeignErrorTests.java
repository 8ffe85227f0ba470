/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.IntStream;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.dao.DataIntegrityViolationException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyResultUnreadableException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Ending;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.CompletionAndClaim;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.store.OffsetMarks;
import dev.idempotency.store.TransactionalIdempotencyStore;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.OperationContext.OpenContext;
import dev.idempotency.template.OperationObserver.HandledOperation;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.StoreMethod;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

/**
 * Tests for errors and missing answers of code that is not part of the library: stores,
 * observers, codecs and exceptions of handlers.
 */
class ForeignErrorTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.h2();

	private final RecordingObserver observer = new RecordingObserver();

	private final JdbcTransactionManager manager = new JdbcTransactionManager(database.pool());

	private final TransactionTemplate transactions = new TransactionTemplate(this.manager);

	private final IdempotencyKey key = TestDatabase.newKey();

	private final String effect = Servers.unique("effect");

	private @Nullable IdempotencyTemplate template;

	ForeignErrorTests() {
		database.jdbc().execute("CREATE TABLE IF NOT EXISTS effect (name varchar(100))");
	}

	@AfterEach
	void close() {
		if (this.template != null) {
			this.template.close();
		}
	}

	private IdempotencyTemplate template(Object store) {
		return template(store, this.observer.observers(), List.of());
	}

	private IdempotencyTemplate template(Object store, Observers observers, List<OperationContext> contexts) {
		return template(store, observers, contexts, StoreCircuit.ALWAYS_CLOSED);
	}

	private IdempotencyTemplate template(Object store, StoreCircuit circuit) {
		return template(store, this.observer.observers(), List.of(), circuit);
	}

	private IdempotencyTemplate template(Object store, Observers observers, List<OperationContext> contexts,
			StoreCircuit circuit) {
		this.template = new IdempotencyTemplate((IdempotencyStore) store,
				new Settings(null, this.manager, false, circuit, CompletionCache.NONE, observers, contexts,
						Settings.DEFAULT_MAXIMUM_RESULT_SIZE, null, OperationSpec.Defaults.STANDARD));
		return this.template;
	}

	private static <T> T intercept(Class<T> type, Object target, Interceptor interceptor) {
		return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] { type },
				(proxy, method, arguments) -> interceptor.call(StoreMethod.name(method, arguments), () -> {
					try {
						return method.invoke(target, arguments);
					}
					catch (InvocationTargetException ex) {
						throw ex.getCause();
					}
				})));
	}

	private static TransactionalIdempotencyStore store(Interceptor interceptor) {
		return intercept(TransactionalIdempotencyStore.class, database.store(), interceptor);
	}

	private static TransactionalIdempotencyStore failingOnceBefore(String call, Supplier<? extends Throwable> error) {
		AtomicBoolean first = new AtomicBoolean(true);
		return store((method, real) -> {
			if (method.matches(call) && first.getAndSet(false)) {
				throw error.get();
			}
			return real.call();
		});
	}

	// The first of these calls takes effect, and then fails.
	private static TransactionalIdempotencyStore failingOnceAfter(String call, Supplier<? extends Throwable> error) {
		AtomicBoolean first = new AtomicBoolean(true);
		return store((method, real) -> {
			Object answer = real.call();
			if (method.matches(call) && first.getAndSet(false)) {
				throw error.get();
			}
			return answer;
		});
	}

	@SuppressWarnings("unchecked")
	private static <E extends Throwable> RuntimeException sneaky(Throwable error) throws E {
		throw (E) error;
	}

	private static NoClassDefFoundError missing() {
		return new NoClassDefFoundError("of a driver");
	}

	private String insert() {
		new JdbcTemplate(database.pool()).update("INSERT INTO effect VALUES (?)", this.effect);
		return "done";
	}

	private int effects() {
		return database.jdbc().queryForObject("SELECT count(*) FROM effect WHERE name = ?", Integer.class, this.effect);
	}

	private IdempotentOperation operation(Mode mode) {
		return TestDatabase.operation(this.key, mode);
	}

	private IdempotentResult<String> pay(IdempotencyTemplate payments, Mode mode) {
		return payments.execute(operation(mode), new TextCodec(), this::insert);
	}

	private IdempotentOperation positioned() {
		return positioned(0);
	}

	private IdempotentOperation positioned(int partition) {
		OffsetPosition position = new OffsetPosition(this.effect, partition, 5, new OffsetPosition.TopicIdentity() {

			private final UUID topic = UUID.randomUUID();

			@Override
			public UUID get() {
				return this.topic;
			}

			@Override
			public void confirm() {
			}

		});
		return new IdempotentOperation(IdempotencyKey.of(this.key.scope(), this.key.value() + partition), "payments",
				"o" + partition, Mode.TRANSACTIONAL, null, TestDatabase.LEASE, TestDatabase.RETENTION, position, null);
	}

	private Optional<State> state() {
		return one(database.store()).find(this.key).map(IdempotencyRecord::state);
	}

	@ParameterizedTest
	@EnumSource(value = Mode.class, names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-11")
	void errorOfAClaimIsARefusal(Mode mode) {
		IdempotencyTemplate payments = template(failingOnceAfter("claim|insert", ForeignErrorTests::missing));
		assertThatExceptionOfType(IdempotencyStoreRefusedException.class).isThrownBy(() -> pay(payments, mode))
			.withCauseInstanceOf(NoClassDefFoundError.class);
		assertThat(this.observer.outcomes()).containsExactly(Outcome.REFUSED);
		assertThat(this.observer.storeCalls()).anyMatch((call) -> call.endsWith("CLAIM refused"));
		// The claim of the failed call is released.
		payments.settle();
		assertThat(pay(payments, mode).duplicate()).isFalse();
		assertThat(effects()).isOne();
	}

	@Test
	@Tag("promise-1")
	void errorOfTheCompletionOfAnAsynchronousOperationLeavesItPending() {
		AtomicBoolean first = new AtomicBoolean(true);
		IdempotencyTemplate payments = template(store((method, real) -> {
			if (method.equals("settleCompleted") && first.getAndSet(false)) {
				throw missing();
			}
			return real.call();
		}));
		CompletableFuture<IdempotentResult<String>> future = payments.executeAsync(operation(Mode.LEASED),
				new TextCodec(), () -> CompletableFuture.completedFuture(insert()));
		assertThat(future.join()).isEqualTo(new IdempotentResult<>("done", false));
		assertThat(state()).contains(State.COMPLETED);
	}

	@ParameterizedTest
	@MethodSource("errors")
	@Tag("promise-1")
	void effectHappensOnceIfItsResultCannotBeWritten(Supplier<Throwable> error) {
		for (Mode mode : List.of(Mode.TRANSACTIONAL, Mode.LEASED)) {
			IdempotentOperation operation = TestDatabase.operation(TestDatabase.newKey(), mode);
			IdempotencyTemplate payments = template(database.store());
			payments.execute(operation, new BrokenCodec(error), this::insert);
			assertThat(payments.execute(operation, new BrokenCodec(error), this::insert).duplicate()).isTrue();
			payments.close();
		}
		assertThat(effects()).isEqualTo(2);
	}

	static List<Supplier<Throwable>> reportErrors() {
		return List.of(() -> new OutOfMemoryError("circuit"), () -> new IllegalStateException("circuit"),
				WithoutText::new, () -> new IOException("checked"));
	}

	// The report of an error must not replace it.
	@ParameterizedTest
	@MethodSource("reportErrors")
	@Tag("promise-1")
	void completionIsPendingWhateverFailsAfterItsCall(Supplier<Throwable> error) {
		AtomicInteger calls = new AtomicInteger();
		StoreCircuit circuit = intercept(StoreCircuit.class, StoreCircuit.ALWAYS_CLOSED, (method, real) -> {
			// The first call is the claim.
			if (method.matches("on(Success|Error)") && calls.incrementAndGet() == 2) {
				throw sneaky(error.get());
			}
			return real.call();
		});
		IdempotencyTemplate payments = template(failingOnceBefore("settleCompleted", WithoutText::new), circuit);
		catchThrowable(() -> pay(payments, Mode.LEASED));
		payments.settle();
		database.endLease(this.key);
		assertThat(pay(payments, Mode.LEASED).duplicate()).isTrue();
		assertThat(effects()).isOne();
	}

	@Test
	@Tag("promise-1")
	void completionsBehindABrokenOneAreRecorded() {
		IdempotencyKey second = TestDatabase.newKey();
		IdempotencyTemplate payments = template(failingOnceBefore("settleCompleted", WithoutText::new));
		this.transactions.executeWithoutResult((status) -> {
			pay(payments, Mode.LEASED);
			payments.execute(TestDatabase.operation(second, Mode.LEASED), new TextCodec(), () -> "second");
		});
		await().untilAsserted(() -> assertThat(database.record(second).state()).isEqualTo(State.COMPLETED));
	}

	// Errors that concern some keys must not stop the completions of others.
	@Test
	@Tag("promise-14")
	void completionsAreRecordedBesideKeysWhoseCallsAlwaysFail() {
		Set<String> failing = ConcurrentHashMap.newKeySet();
		AtomicBoolean outage = new AtomicBoolean();
		IdempotencyTemplate payments = template(Proxy.newProxyInstance(getClass().getClassLoader(),
				new Class<?>[] { IdempotencyStore.class }, (proxy, method, arguments) -> {
					if (StoreMethod.name(method, arguments).equals("settleCompleted")) {
						if (outage.get()) {
							throw new IdempotencyStoreUnavailableException("outage", null);
						}
						if (failing.contains(((Ending) ((List<?>) arguments[0]).get(0)).claim().key().value())) {
							throw new StackOverflowError();
						}
					}
					return method.invoke(database.store(), arguments);
				}));
		for (int i = 0; i < 30; i++) {
			IdempotencyKey broken = TestDatabase.newKey();
			failing.add(broken.value());
			payments.executeAsync(TestDatabase.operation(broken, Mode.LEASED), new TextCodec(),
					() -> CompletableFuture.completedFuture("never"));
		}
		outage.set(true);
		List<CompletableFuture<IdempotentResult<String>>> healthy = IntStream.range(0, 20)
			.mapToObj((i) -> payments.executeAsync(TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED),
					new TextCodec(), () -> CompletableFuture.completedFuture("done")))
			.toList();
		await().until(() -> payments.admin().unrecorded().size() == 50);
		outage.set(false);
		await().until(() -> healthy.stream().allMatch(CompletableFuture::isDone));
	}

	// A claim of a batch that fails after it has succeeded must not be committed with the
	// others.
	@ParameterizedTest
	@CsvSource({ "false, false", "true, false", "false, true", "true, true" })
	@Tag("promise-1")
	void claimOfABatchThatMayHaveSucceededIsNotCommitted(boolean marks, boolean readable) {
		AtomicBoolean contended = new AtomicBoolean(true);
		AtomicBoolean failing = new AtomicBoolean(true);
		Interceptor claims = (method, real) -> {
			if (method.matches("insert|raise") && contended.getAndSet(false)) {
				throw new OperationInProgressException("contention", Duration.ZERO);
			}
			Object answer = real.call();
			if (method.matches("claimInTransaction|raise") && failing.getAndSet(false)) {
				throw readable ? new IllegalStateException("behind the claim") : new WithoutCause();
			}
			return answer;
		};
		IdempotencyTemplate payments = template(store((method, real) -> (marks && method.equals("offsetMarks"))
				? Optional.of(intercept(OffsetMarks.class, database.store().offsetMarks().orElseThrow(), claims))
				: claims.call(method, real)));
		List<BatchItem> items = marks ? List.of(new BatchItem(positioned(0), 0), new BatchItem(positioned(1), 1))
				: List.of(new BatchItem(operation(Mode.TRANSACTIONAL), 0),
						new BatchItem(TestDatabase.operation(TestDatabase.newKey(), Mode.TRANSACTIONAL), 1));
		Set<Integer> done = new HashSet<>();
		BatchHandler<String> handler = (due) -> {
			done.addAll(due);
			return new ArrayList<>(Collections.nCopies(due.size(), insert()));
		};
		assertThat(payments.executeAll(items, new TextCodec(), handler).blocked()).containsOnlyKeys(0);
		assertThat(done).containsExactly(1);
		payments.executeAll(items, new TextCodec(), handler);
		assertThat(done).containsExactly(0, 1);
	}

	@Test
	@Tag("promise-14")
	void errorOfTheRecordOfAFailureDoesNotReplaceTheException() {
		IdempotencyTemplate payments = template(store((method, real) -> {
			if (method.equals("settleFailed")) {
				throw missing();
			}
			return real.call();
		}));
		assertThatIllegalStateException()
			.isThrownBy(() -> payments.execute(operation(Mode.LEASED), new TextCodec(), () -> {
				throw new IllegalStateException("handler");
			}))
			.withMessage("handler");
	}

	@Test
	@Tag("promise-1")
	void errorOfTheRecordOfAFailureIsARefusalInTransactionalMode() {
		IdempotencyTemplate payments = template(
				failingOnceAfter("settleAfterTransactionFailed", ForeignErrorTests::missing));
		assertThatExceptionOfType(IdempotencyStoreRefusedException.class)
			.isThrownBy(() -> payments.execute(operation(Mode.TRANSACTIONAL), new TextCodec(), () -> {
				throw new IllegalStateException("handler");
			}));
		assertThat(this.observer.outcomes()).containsExactly(Outcome.REFUSED);
	}

	@ParameterizedTest
	@EnumSource(value = Mode.class, names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-13")
	void errorsOfObserversAndContextsAreDropped(Mode mode) {
		BrokenObserver broken = new BrokenObserver();
		IdempotencyTemplate payments = template(database.store(),
				new Observers(List.of(broken, this.observer), List.of(broken, this.observer)),
				List.of((operation) -> broken, (operation) -> {
					throw missing();
				}));
		assertThat(pay(payments, mode)).isEqualTo(new IdempotentResult<>("done", false));
		assertThat(pay(payments, mode)).isEqualTo(new IdempotentResult<>("done", true));
		assertThat(this.observer.outcomes()).containsExactly(Outcome.PROCESSED, Outcome.DUPLICATE);
	}

	// Code in Kotlin may throw checked exceptions anywhere.
	static List<Supplier<Throwable>> errors() {
		return List.of(StackOverflowError::new, ForeignErrorTests::missing, () -> new AssertionError("a getter"),
				() -> new IOException("checked"));
	}

	@ParameterizedTest
	@MethodSource("errors")
	@Tag("promise-10")
	void storedResultWhoseCodecFailsWithAnErrorIsUnreadable(Supplier<Throwable> error) {
		IdempotencyTemplate payments = template(database.store());
		pay(payments, Mode.LEASED);
		assertThatExceptionOfType(IdempotencyResultUnreadableException.class)
			.isThrownBy(() -> payments.execute(operation(Mode.LEASED), new BrokenCodec(error), this::insert));
	}

	@ParameterizedTest
	@MethodSource("errors")
	@Tag("promise-8")
	void bodyOfADeclineWhoseCodecFailsWithAnErrorIsAFailureOfTheHandler(Supplier<Throwable> error) {
		IdempotencyTemplate payments = template(database.store());
		assertThatIllegalStateException()
			.isThrownBy(() -> payments.execute(operation(Mode.LEASED), new BrokenCodec(error), () -> {
				throw new OperationDeclinedException("no", "body");
			}))
			.withMessageStartingWith("An operation was declined with a body");
	}

	@ParameterizedTest
	@MethodSource("errors")
	@Tag("promise-8")
	void resultThatCannotBeReadBackIsStored(Supplier<Throwable> error) {
		BrokenCodec codec = new BrokenCodec(error);
		codec.writes = true;
		assertThat(template(database.store()).execute(operation(Mode.LEASED), codec, this::insert).result())
			.isEqualTo("done");
		assertThat(state()).contains(State.COMPLETED);
	}

	@ParameterizedTest
	@EnumSource(value = Mode.class, names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-1")
	void failureWhoseMessageFailsWithAnErrorIsRecordedWithItsType(Mode mode) {
		IdempotencyTemplate payments = template(database.store());
		Throwable thrown = null;
		try {
			payments.execute(operation(mode), new TextCodec(), () -> {
				throw new WithoutText();
			});
		}
		catch (Throwable ex) {
			thrown = ex;
		}
		assertThat((Object) thrown.getClass()).isEqualTo(WithoutText.class);
		assertThat(database.record(this.key).failure().type()).isEqualTo(WithoutText.class.getName());
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-1")
	void asynchronousFailureWithoutATextIsRecordedWithItsType(boolean failedBefore) {
		IdempotencyTemplate payments = template(database.store());
		CompletableFuture<String> handler = new CompletableFuture<>();
		if (failedBefore) {
			handler.completeExceptionally(new WithoutText());
		}
		CompletableFuture<IdempotentResult<String>> future = null;
		try {
			future = payments.executeAsync(operation(Mode.LEASED), new TextCodec(), () -> handler);
			handler.completeExceptionally(new WithoutText());
		}
		catch (Throwable ex) {
			// The class of the exception is compared below.
		}
		await().until(() -> state().equals(Optional.of(State.FAILED)));
		assertThat(database.record(this.key).failure().type()).isEqualTo(WithoutText.class.getName());
		assertThat(future).isNotNull();
		await().until(future::isDone);
	}

	@ParameterizedTest
	@ValueSource(strings = { "renew", "restore" })
	@Tag("promise-2")
	void claimIsNotLostWithoutAnAnswer(String silent) {
		AtomicInteger asked = new AtomicInteger();
		AtomicBoolean together = new AtomicBoolean(true);
		IdempotencyTemplate payments = template(store((method, real) -> {
			if (method.equals("renew") && silent.equals("restore")) {
				return List.of(Settlement.FORGOTTEN);
			}
			if (method.equals("renew") && together.getAndSet(false)) {
				throw new IdempotencyStoreRefusedException("one of several", null);
			}
			if (method.equals(silent)) {
				asked.incrementAndGet();
				return silent.equals("renew") ? Collections.singletonList(null) : null;
			}
			return real.call();
		}));
		IdempotentOperation brief = TestDatabase.operation(this.key, Mode.LEASED, null, Duration.ofMillis(600));
		assertThat(payments.execute(brief, new TextCodec(), () -> {
			IdempotentExecution execution = IdempotentExecution.current();
			await().until(() -> asked.get() > 1 || execution.ownershipLost());
			return String.valueOf(execution.ownershipLost());
		}).result()).isEqualTo("false");
	}

	@ParameterizedTest
	@ValueSource(strings = { "answer", "settlement", "claim" })
	@Tag("promise-1")
	void claimAheadWithoutAnAnswerIsReleased(String missing) {
		IdempotencyKey next = TestDatabase.newKey();
		IdempotencyTemplate payments = template(store((method, real) -> {
			if (method.equals("supportsClaimAhead")) {
				return true;
			}
			if (!method.equals("completeAndClaim")) {
				return real.call();
			}
			one(database.store()).claim(TestDatabase.request(this.key));
			CompletionAndClaim answer = (CompletionAndClaim) real.call();
			return switch (missing) {
				case "answer" -> null;
				case "settlement" -> new CompletionAndClaim(null, answer.claim());
				default -> new CompletionAndClaim(answer.settlement(), null);
			};
		}));
		ClaimAhead ahead = payments.claimAhead(() -> TestDatabase.operation(next, Mode.LEASED));
		ahead.begin();
		payments.execute(operation(Mode.LEASED), new TextCodec(), TransactionBoundary.DEFAULT, ahead, this::insert);
		ahead.release();
		assertThat(state()).contains(State.COMPLETED);
		await()
			.until(() -> one(database.store()).find(next).filter((one) -> one.state() == State.IN_PROGRESS).isEmpty());
	}

	@Test
	@Tag("promise-14")
	void markThatIsNotAnsweredIsARefusal() {
		IdempotencyTemplate payments = template(store((method, real) -> !method.equals("offsetMarks") ? real.call()
				: Optional.of(intercept(OffsetMarks.class, database.store().offsetMarks().orElseThrow(),
						(call, marks) -> call.equals("find") ? null : marks.call()))));
		assertThatExceptionOfType(IdempotencyStoreRefusedException.class)
			.isThrownBy(() -> payments.execute(positioned(), new TextCodec(), () -> {
				throw new IllegalStateException("handler");
			}));
	}

	@Test
	@Tag("promise-14")
	void errorWhoseCausesFormACycleIsARefusal() {
		IllegalStateException cyclic = new IllegalStateException("one");
		cyclic.initCause(new IllegalStateException("other", cyclic));
		IdempotencyTemplate payments = template(failingOnceBefore("claim", () -> cyclic));
		assertThatExceptionOfType(IdempotencyStoreRefusedException.class).isThrownBy(() -> pay(payments, Mode.LEASED));
	}

	static List<Throwable> unknownErrors() {
		return List.of(new WithoutCause(), new NullPointerException("in the mapping of the answer"), missing(),
				new DataIntegrityViolationException("in a trigger"), new IllegalStateException("of a decorator"));
	}

	@ParameterizedTest
	@MethodSource("unknownErrors")
	@Tag("promise-1")
	void claimThatMayHaveSucceededIsNotCommittedByTheCaller(Throwable error) {
		IdempotencyTemplate payments = template(failingOnceAfter("claimInTransaction", () -> error));
		assertThatExceptionOfType(UnexpectedRollbackException.class).isThrownBy(() -> this.transactions
			.executeWithoutResult((status) -> assertThatExceptionOfType(RuntimeException.class)
				.isThrownBy(() -> pay(payments, Mode.TRANSACTIONAL))));
		payments.settle();
		assertThat(pay(payments, Mode.TRANSACTIONAL).duplicate()).isFalse();
		assertThat(effects()).isOne();
	}

	static List<RuntimeException> knownConditions() {
		return List.of(new OperationInProgressException("contention", Duration.ZERO),
				new IdempotencyStoreRefusedException("no privilege", null),
				new IdempotencyStoreUnavailableException("outage", null));
	}

	@ParameterizedTest
	@MethodSource("knownConditions")
	@Tag("promise-5")
	void claimThatTheStoreHasUndoneLeavesTheTransactionOfTheCallerUsable(RuntimeException error) {
		IdempotencyTemplate payments = template(store((method, real) -> {
			if (method.equals("claimInTransaction")) {
				throw error;
			}
			return real.call();
		}));
		this.transactions.executeWithoutResult((status) -> {
			assertThatExceptionOfType(error.getClass()).isThrownBy(() -> pay(payments, Mode.TRANSACTIONAL));
			insert();
		});
		assertThat(effects()).isOne();
	}

	@Test
	@Tag("promise-14")
	void rollbackOfATransactionOfTheStoreIsARefusal() {
		IdempotencyTemplate payments = template(store((method, real) -> {
			if (method.equals("claim")) {
				throw new UnexpectedRollbackException("of the store");
			}
			return real.call();
		}));
		assertThatExceptionOfType(IdempotencyStoreRefusedException.class).isThrownBy(() -> pay(payments, Mode.LEASED));
		this.transactions.executeWithoutResult((status) -> {
			assertThatExceptionOfType(IdempotencyStoreRefusedException.class)
				.isThrownBy(() -> pay(payments, Mode.LEASED));
			insert();
		});
		assertThat(effects()).isOne();
		assertThat(this.observer.outcomes()).containsExactly(Outcome.REFUSED, Outcome.REFUSED);
	}

	@Test
	@Tag("promise-5")
	void rollbackOfTheTransactionOfTheHandlerIsItsFailure() {
		IdempotencyTemplate payments = template(store((method, real) -> {
			if (method.equals("storeResults")) {
				throw new UnexpectedRollbackException("of the handler");
			}
			return real.call();
		}));
		assertThatExceptionOfType(UnexpectedRollbackException.class)
			.isThrownBy(() -> pay(payments, Mode.TRANSACTIONAL));
		assertThat(this.observer.outcomes()).containsExactly(Outcome.FAILED);
		assertThat(this.observer.storeErrors()).isEmpty();
		assertThat(state()).contains(State.FAILED);
	}

	@ParameterizedTest
	@EnumSource(value = Mode.class, names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-1")
	void handlerCannotChangeTheListOfDueItems(Mode mode) {
		IdempotencyKey second = TestDatabase.newKey();
		List<BatchItem> items = List.of(new BatchItem(operation(mode), 0),
				new BatchItem(TestDatabase.operation(second, mode), 0));
		IdempotencyTemplate payments = template(database.store());
		assertThatNoException().isThrownBy(() -> payments.executeAll(items, new TextCodec(), (due) -> {
			catchThrowable(() -> due.remove(0));
			return new ArrayList<>(Collections.nCopies(2, insert()));
		}));
		assertThat(effects()).isOne();
		assertThat(state()).contains(State.COMPLETED);
		assertThat(database.record(second).state()).isEqualTo(State.COMPLETED);
	}

	/**
	 * Receives the calls of a proxy.
	 */
	private interface Interceptor {

		@Nullable Object call(String method, Call real) throws Throwable;

	}

	private interface Call {

		@Nullable Object call() throws Throwable;

	}

	private static final class BrokenObserver implements OperationObserver, StoreObserver, OpenContext {

		@Override
		public void handled(HandledOperation operation) {
			throw missing();
		}

		@Override
		public void storeCalled(String store, StoreCall call, StoreOutcome outcome, Duration duration) {
			throw missing();
		}

		@Override
		public void close() {
			throw missing();
		}

		@Override
		public void ended(HandledOperation execution) {
			throw missing();
		}

	}

	private static final class BrokenCodec implements ResultCodec<String> {

		private final Supplier<Throwable> error;

		private boolean writes;

		BrokenCodec(Supplier<Throwable> error) {
			this.error = error;
		}

		@Override
		public byte @Nullable [] write(@Nullable String result) {
			if (this.writes) {
				return new TextCodec().write(result);
			}
			throw sneaky(this.error.get());
		}

		@Override
		public String read(byte[] bytes) {
			throw sneaky(this.error.get());
		}

	}

	@SuppressWarnings("serial")
	private static final class WithoutCause extends RuntimeException {

		@Override
		public Throwable getCause() {
			throw new IllegalStateException("no cause");
		}

	}

	@SuppressWarnings("serial")
	private static final class WithoutText extends RuntimeException {

		@Override
		public String getMessage() {
			throw new AssertionError("no text");
		}

	}

}
