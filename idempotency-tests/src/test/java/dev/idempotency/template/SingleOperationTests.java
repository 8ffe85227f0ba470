/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.util.unit.DataSize;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OperationLostException;
import dev.idempotency.resilience4j.Resilience4jStoreCircuit;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.OffsetPosition.TopicIdentity;
import dev.idempotency.template.OperationObserver.HandledOperation;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowable;

/**
 * Tests for a single operation, which is run as a batch of one: its exceptions, its
 * outcome, and the transaction of its handler.
 */
class SingleOperationTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final JdbcTransactionManager manager = new JdbcTransactionManager(database.pool());

	private final TransactionTemplate transactions = new TransactionTemplate(this.manager);

	private final JdbcTemplate jdbc = new JdbcTemplate(database.pool());

	private final RecordingObserver observer = new RecordingObserver();

	private final IdempotencyKey key = TestDatabase.newKey();

	private final String effect = Servers.unique("effect");

	private final CircuitBreaker breaker = CircuitBreaker.of("store",
			CircuitBreakerConfig.custom().permittedNumberOfCallsInHalfOpenState(1).build());

	private final IdempotencyTemplate template = template(this.observer.observers());

	SingleOperationTests() {
		database.jdbc().execute("CREATE TABLE IF NOT EXISTS effect (name varchar(100))");
	}

	private IdempotencyTemplate template(Observers observers) {
		return new IdempotencyTemplate(database.store(),
				new Settings(null, this.manager, true, new Resilience4jStoreCircuit(this.breaker), CompletionCache.NONE,
						observers, List.of(), DataSize.ofKilobytes(1), null, OperationSpec.Defaults.STANDARD));
	}

	@AfterEach
	void close() {
		this.template.close();
	}

	private String run(Mode mode, IdempotentOperation.Handler<String, RuntimeException> handler) {
		return this.template.execute(TestDatabase.operation(this.key, mode), new TextCodec(), handler).result();
	}

	private void halfOpen() {
		this.breaker.transitionToOpenState();
		this.breaker.transitionToHalfOpenState();
	}

	private void insert() {
		this.jdbc.update("INSERT INTO effect VALUES (?)", this.effect);
	}

	private String inserted() {
		insert();
		return "done";
	}

	private int effects() {
		return database.jdbc().queryForObject("SELECT count(*) FROM effect WHERE name = ?", Integer.class, this.effect);
	}

	private static void beforeCommit(Runnable callback) {
		TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

			@Override
			public void beforeCommit(boolean readOnly) {
				callback.run();
			}

		});
	}

	private void complete() {
		database.endLease(this.key);
		ClaimRequest other = TestDatabase.request(this.key);
		one(database.store()).claim(other);
		database.jdbc().update("INSERT INTO effect VALUES (?)", this.effect);
		one(database.store()).complete(other, null);
	}

	@ParameterizedTest
	@CsvSource({ "false, false", "true, false", "false, true", "true, true" })
	@Tag("promise-4")
	void operationThatIsLostRefusesTheCommitOfACallerThatCatchesItsFailure(boolean blocked, boolean batch) {
		RuntimeException failure = blocked ? new OperationInProgressException("nested", Duration.ofMillis(1))
				: new IllegalStateException("fails");
		assertThatExceptionOfType(OperationLostException.class)
			.isThrownBy(() -> this.transactions.executeWithoutResult((status) -> {
				IdempotentOperation operation = TestDatabase.operation(this.key, Mode.LEASED);
				IdempotentOperation.Handler<String, RuntimeException> handler = () -> {
					insert();
					complete();
					throw failure;
				};
				if (batch) {
					this.template.executeAll(List.of(new BatchItem(operation, 0)), new TextCodec(),
							(due) -> List.of(handler.handle()));
				}
				else {
					catchThrowable(() -> this.template.execute(operation, new TextCodec(), handler));
				}
			}));
		assertThat(effects()).isOne();
		assertThat(this.observer.outcomes()).containsExactly(Outcome.LOST);
	}

	// Spring commits the transaction, and reports that it has rolled it back.
	@ParameterizedTest
	@CsvSource({ "false, false, true", "false, true, true", "false, false, false", "false, true, false",
			"true, false, false" })
	@Tag("promise-5")
	void effectOfACommitThatIsReportedAsARollbackHappensOnce(boolean joined, boolean batch, boolean marks) {
		AtomicBoolean first = new AtomicBoolean(true);
		TransactionTemplate other = new TransactionTemplate(this.manager);
		other.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
		Runnable mark = () -> this.transactions.executeWithoutResult((inner) -> inner.setRollbackOnly());
		IdempotentOperation.Handler<String, RuntimeException> handler = () -> {
			insert();
			if (first.getAndSet(false)) {
				beforeCommit(marks ? mark : () -> other.executeWithoutResult((outer) -> mark.run()));
			}
			return "done";
		};
		IdempotentOperation operation = TestDatabase.operation(this.key, Mode.TRANSACTIONAL);
		Runnable once = () -> {
			if (batch) {
				this.template.executeAll(List.of(new BatchItem(operation, 0)), new TextCodec(),
						(due) -> List.of(handler.handle()));
			}
			else {
				this.template.execute(operation, new TextCodec(), handler);
			}
		};
		for (int i = 0; i < 2; i++) {
			catchThrowable(() -> {
				if (joined) {
					this.transactions.executeWithoutResult((status) -> once.run());
				}
				else {
					once.run();
				}
			});
			this.template.settle();
		}
		assertThat(effects()).isOne();
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	@Tag("promise-5")
	void operationOfACallbackBeforeACommitThatIsReportedAsARollbackHappensOnce(boolean late) {
		Runnable marked = () -> {
			run(Mode.TRANSACTIONAL, this::inserted);
			this.transactions.executeWithoutResult((inner) -> inner.setRollbackOnly());
		};
		catchThrowable(() -> this.transactions.executeWithoutResult((status) -> {
			if (late) {
				TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

					@Override
					public void beforeCompletion() {
						marked.run();
					}

				});
			}
			else {
				beforeCommit(marked);
			}
		}));
		this.template.settle();
		run(Mode.TRANSACTIONAL, this::inserted);
		assertThat(effects()).isOne();
	}

	@ParameterizedTest
	@EnumSource(value = Mode.class, names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-9")
	void exceptionIsNeverComparedWithAnother(Mode mode) {
		Incomparable failure = new Incomparable(null);
		assertThat(catchThrowable(() -> run(mode, () -> {
			throw failure;
		})) == failure).isTrue();
		Incomparable wrapper = new Incomparable(new OperationInProgressException("nested", Duration.ofMillis(1)));
		assertThat(catchThrowable(() -> run(mode, () -> {
			throw wrapper;
		})) == wrapper).isTrue();
		assertThat(this.observer.outcomes()).containsExactly(Outcome.FAILED, Outcome.BLOCKED);
		assertThat(database.record(this.key).attempt()).isOne();
	}

	@ParameterizedTest
	@CsvSource({ "LEASED, false", "LEASED, true", "TRANSACTIONAL, false", "TRANSACTIONAL, true" })
	void outcomeIsReportedOnceIfAnObserverFailsWithAnError(Mode mode, boolean batch) {
		OperationObserver broken = new OperationObserver() {

			@Override
			public void handled(HandledOperation operation) {
				throw new NoClassDefFoundError("of an observer");
			}

		};
		IdempotentOperation operation = TestDatabase.operation(this.key, mode);
		try (IdempotencyTemplate observed = template(new Observers(List.of(this.observer, broken), List.of()))) {
			catchThrowable(() -> {
				if (batch) {
					observed.executeAll(List.of(new BatchItem(operation, 0)), new TextCodec(),
							(due) -> List.of("done"));
				}
				else {
					observed.execute(operation, new TextCodec(), () -> "done");
				}
			});
		}
		assertThat(this.observer.outcomes()).containsExactly(Outcome.PROCESSED);
	}

	@Test
	@Tag("promise-11")
	void unprotectedHandlerWhoseCommitFailsCountsAsUnprotected() {
		this.breaker.transitionToForcedOpenState();
		assertThatIllegalStateException().isThrownBy(() -> run(Mode.TRANSACTIONAL, () -> {
			beforeCommit(() -> {
				throw new IllegalStateException("commit");
			});
			return "done";
		})).withMessage("commit");
		assertThat(this.observer.outcomes()).containsExactly(Outcome.UNPROTECTED);
	}

	@Test
	@Tag("promise-9")
	void exceptionOfTheCommitIsNotReplacedByItsBlockedCause() {
		IllegalStateException failure = new IllegalStateException("commit",
				new OperationInProgressException("nested", Duration.ofMillis(1)));
		assertThatIllegalStateException().isThrownBy(() -> run(Mode.TRANSACTIONAL, () -> {
			beforeCommit(() -> {
				throw failure;
			});
			return "done";
		})).isSameAs(failure);
		assertThat(this.observer.outcomes()).containsExactly(Outcome.BLOCKED);
	}

	@Test
	@Tag("promise-11")
	void identityOfATopicIsAskedBeforeATransactionAndAPermission() {
		AtomicInteger inside = new AtomicInteger();
		OffsetPosition position = new OffsetPosition("topic", 0, 5, new TopicIdentity() {

			@Override
			public UUID get() {
				inside.addAndGet(TransactionSynchronizationManager.isActualTransactionActive() ? 1 : 0);
				throw new OperationInProgressException("The topic is not known", Duration.ofMillis(1));
			}

			@Override
			public void confirm() {
			}

		});
		IdempotentOperation operation = new IdempotentOperation(this.key, "payments", "topic-0@5", Mode.TRANSACTIONAL,
				null, Duration.ofMinutes(1), Duration.ofHours(1), position, null);
		halfOpen();
		assertThatExceptionOfType(OperationInProgressException.class)
			.isThrownBy(() -> this.template.execute(operation, new TextCodec(), () -> "done"));
		assertThat(inside).hasValue(0);
		assertThat(this.breaker.tryAcquirePermission()).isTrue();
		assertThat(this.observer.storeCalls()).isEmpty();
	}

	@Test
	@Tag("promise-11")
	void commitOfTheCallerThatIsInDoubtTakesNoPermission() {
		assertThatIllegalStateException().isThrownBy(() -> this.transactions.executeWithoutResult((status) -> {
			run(Mode.TRANSACTIONAL, () -> "done");
			halfOpen();
			beforeCommit(() -> {
				throw new IllegalStateException("another callback");
			});
		}));
		this.template.settle();
		assertThat(this.breaker.tryAcquirePermission()).isTrue();
	}

	// A record must not be recovered because of its store.
	@ParameterizedTest
	@CsvSource({ "1, true", "2, true", "1, false", "2, false" })
	@Tag("promise-1")
	void claimWithoutAnAnswerIsRefused(int items, boolean shorter) {
		IdempotencyStore store = (IdempotencyStore) Proxy.newProxyInstance(getClass().getClassLoader(),
				new Class<?>[] { IdempotencyStore.class },
				(proxy, method, arguments) -> method.getName().equals("claim")
						? shorter ? List.of() : Collections.singletonList(null)
						: method.invoke(database.store(), arguments));
		List<BatchItem> all = IntStream.range(0, items)
			.mapToObj((i) -> new BatchItem(TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED), i))
			.toList();
		try (IdempotencyTemplate broken = new IdempotencyTemplate(store,
				new Settings(null, false, this.observer.observers()))) {
			assertThat(broken.executeAll(all, new TextCodec(), (due) -> List.of("done")).blocked().values())
				.hasSize(items)
				.allMatch(IdempotencyStoreRefusedException.class::isInstance);
			assertThatExceptionOfType(IdempotencyStoreRefusedException.class).isThrownBy(
					() -> broken.execute(TestDatabase.operation(this.key, Mode.LEASED), new TextCodec(), () -> "done"));
		}
	}

	private static final class Incomparable extends RuntimeException {

		Incomparable(Throwable cause) {
			super("incomparable", cause);
		}

		@Override
		public boolean equals(Object other) {
			throw new IllegalStateException("no session");
		}

		@Override
		public int hashCode() {
			throw new IllegalStateException("no session");
		}

	}

}
