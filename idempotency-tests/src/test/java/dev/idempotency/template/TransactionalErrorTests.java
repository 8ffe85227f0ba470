/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.TransactionSystemException;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationLostException;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link IdempotencyTemplate} in {@link Mode#TRANSACTIONAL} with a single
 * connection, when errors, interrupts or lost answers occur.
 */
@Tag("promise-5")
class TransactionalErrorTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private static final TransactionBoundary WITHOUT_EFFECT = TransactionBoundary.of(new DefaultTransactionDefinition(),
			() -> true);

	private final IdempotencyKey key = TestDatabase.newKey();

	private final IdempotentOperation operation = TestDatabase.operation(this.key, Mode.TRANSACTIONAL);

	private final HikariDataSource pool = pool();

	private final TestManager manager = new TestManager(this.pool);

	private final RecordingObserver listener = new RecordingObserver();

	private final FailingListener failing = new FailingListener();

	private final IdempotencyTemplate template = new IdempotencyTemplate(
			new JdbcIdempotencyStore(this.pool, TestDatabase.TABLE, TestDatabase.TIMEOUT), new Settings(this.manager,
					false, new Observers(List.of(this.listener), List.of(this.listener, this.failing))));

	private final ExecutorService handlers = Executors.newSingleThreadExecutor();

	@AfterEach
	void close() {
		this.handlers.shutdownNow();
		this.template.close();
		this.pool.close();
	}

	private static HikariDataSource pool() {
		HikariConfig config = new HikariConfig();
		database.pool().copyStateTo(config);
		config.setPoolName(null);
		config.setMaximumPoolSize(1);
		config.setMinimumIdle(0);
		return new HikariDataSource(config);
	}

	private IdempotentResult<String> run() {
		return this.template.execute(this.operation, ResultCodec.none(), () -> null);
	}

	private void runFailing() {
		this.template.execute(this.operation, ResultCodec.none(), () -> {
			throw new IllegalStateException("handler");
		});
	}

	private void runInterrupted() {
		this.template.execute(this.operation, ResultCodec.none(), this::failInterrupted);
	}

	// The note of the failure waits for a new
	// connection, and an interrupt would end that wait.
	private String failInterrupted() {
		this.pool.getHikariPoolMXBean().softEvictConnections();
		Thread.currentThread().interrupt();
		throw new IllegalStateException("handler");
	}

	private BatchResult<String> runBatch(BatchHandler<String> handler) {
		return this.template.executeAll(List.of(new BatchItem(this.operation, 0)), ResultCodec.none(), handler);
	}

	private String lostBatch(BatchHandler<String> handler) {
		OperationBlockedException waiting = runBatch(handler).blocked().get(0);
		assertThat(waiting).isInstanceOf(OperationLostException.class);
		return waiting.getMessage();
	}

	private void completeElsewhere() {
		ClaimRequest other = TestDatabase.request(this.key);
		one(database.store()).claim(other);
		one(database.store()).complete(other, null);
	}

	private IdempotencyRecord record() {
		return database.record(this.key);
	}

	// The first claim inserts the record, the second one takes over a failed record.
	@ParameterizedTest
	@ValueSource(ints = { 1, 2 })
	void errorOfAnObserverLeavesNoTransactionOnItsThread(int claim) {
		if (claim == 2) {
			assertThatExceptionOfType(IllegalStateException.class).isThrownBy(this::runFailing);
		}
		this.failing.claims.set(claim);
		assertThat(run().duplicate()).isFalse();
		assertThat(TransactionSynchronizationManager.getResourceMap()).isEmpty();
		assertThat(TransactionSynchronizationManager.isActualTransactionActive()).isFalse();
		assertThat(this.pool.getHikariPoolMXBean().getActiveConnections()).isZero();
		assertThat(record().state()).isEqualTo(State.COMPLETED);
	}

	@Test
	void failureOfAnInterruptedHandlerIsNotedAndItStaysInterrupted() throws Exception {
		boolean interrupted = this.handlers.submit(() -> {
			assertThatExceptionOfType(IllegalStateException.class).isThrownBy(this::runInterrupted);
			return Thread.currentThread().isInterrupted();
		}).get();
		assertFailureIsNoted(interrupted);
	}

	@Test
	void failureOfAnInterruptedBatchIsNotedAndItStaysInterrupted() throws Exception {
		boolean interrupted = this.handlers.submit(() -> {
			assertThat(runBatch((due) -> List.of(failInterrupted())).failure())
				.isInstanceOf(IllegalStateException.class);
			return Thread.currentThread().isInterrupted();
		}).get();
		assertFailureIsNoted(interrupted);
	}

	private void assertFailureIsNoted(boolean interrupted) {
		assertThat(interrupted).isTrue();
		assertThat(record()).extracting(IdempotencyRecord::state, IdempotencyRecord::attempt)
			.containsExactly(State.FAILED, 1);
		assertThat(this.listener.storeCalls()).containsExactly("jdbc CLAIM", "jdbc FAIL");
	}

	// After a translated exception, Spring rolls back, which may succeed.
	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-3")
	void lostAnswerOfACommitIsNotReportedAsARollback(boolean translated) {
		this.manager.failure = translated ? new DataAccessResourceFailureException("The connection broke")
				: new TransactionSystemException("The connection broke");
		assertThatExceptionOfType(OperationLostException.class).isThrownBy(this::run)
			.withMessageStartingWith("The outcome of the commit is unknown")
			.withMessageContaining(this.key.toString());
		assertThat(record().state()).isEqualTo(State.COMPLETED);
		this.manager.failure = null;
		assertThat(run().duplicate()).isTrue();
	}

	@Test
	void lostAnswerOfABatchCommitIsNotReportedAsARollback() {
		this.manager.failure = new TransactionSystemException("The connection broke");
		assertThat(lostBatch((due) -> List.of("done"))).startsWith("The outcome of the commit is unknown");
		assertThat(record().state()).isEqualTo(State.COMPLETED);
	}

	// The exception is that of another transaction.
	@Test
	@Tag("promise-3")
	void completionIsNotUndoneWhenACallbackAfterTheCommitFails() {
		assertThatExceptionOfType(OperationLostException.class)
			.isThrownBy(() -> this.template.execute(this.operation, ResultCodec.none(), () -> {
				TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

					@Override
					public void afterCommit() {
						throw new UnexpectedRollbackException("another transaction");
					}

				});
				return null;
			}));
		assertThat(run().duplicate()).isTrue();
	}

	@Test
	void rollbackIsReportedAsARollbackWhenAnotherOwnerCompletes() {
		this.manager.afterRollback = this::completeElsewhere;
		assertThatExceptionOfType(OperationLostException.class).isThrownBy(this::runFailing)
			.withMessageStartingWith("The execution was rolled back");
	}

	@Test
	void rollbackOfABatchIsReportedAsARollbackWhenAnotherOwnerCompletes() {
		this.manager.afterRollback = this::completeElsewhere;
		assertThat(lostBatch((due) -> {
			throw new IllegalStateException("handler");
		})).startsWith("The execution was rolled back");
	}

	@Test
	@Tag("promise-3")
	void requestedRollbackCompletesTheOperationWithItsResult() {
		assertThat(runWithoutEffect()).isEqualTo(new IdempotentResult<>("undone", false));
		assertThat(record()).extracting(IdempotencyRecord::state, IdempotencyRecord::attempt)
			.containsExactly(State.COMPLETED, 1);
		assertThat(runWithoutEffect()).isEqualTo(new IdempotentResult<>("undone", true));
	}

	@Test
	@Tag("promise-8")
	void requestedRollbackCompletesTheOperationAlthoughTheHandlerHasCommitted() {
		assertThat(this.template.execute(this.operation, new TextCodec(), WITHOUT_EFFECT, null, () -> {
			EffectOperation.commit(new JdbcTemplate(this.pool));
			return "undone";
		})).isEqualTo(new IdempotentResult<>("undone", false));
		assertThat(record().attempt()).isOne();
		assertThat(runWithoutEffect()).isEqualTo(new IdempotentResult<>("undone", true));
	}

	@Test
	void requestedRollbackIsADuplicateWhenAnotherOwnerCompletes() {
		this.manager.afterRollback = this::completeElsewhere;
		assertThat(runWithoutEffect()).isEqualTo(new IdempotentResult<>(null, true));
		assertThat(this.pool.getHikariPoolMXBean().getActiveConnections()).isZero();
	}

	@Test
	void requestedRollbackOfABatchIsADuplicateWhenAnotherOwnerCompletes() {
		this.manager.afterRollback = this::completeElsewhere;
		BatchResult<String> executed = this.template.executeAll(List.of(new BatchItem(this.operation, 0)),
				Mode.TRANSACTIONAL, new TextCodec(), WITHOUT_EFFECT, (due) -> List.of("undone"));
		assertThat(executed.results()).containsExactly(new IdempotentResult<>(null, true));
		assertThat(this.pool.getHikariPoolMXBean().getActiveConnections()).isZero();
	}

	private IdempotentResult<String> runWithoutEffect() {
		return this.template.execute(this.operation, new TextCodec(), WITHOUT_EFFECT, null, () -> "undone");
	}

	@Test
	@Tag("promise-11")
	void failureInATransactionOfTheCallerNeedsNoSecondConnection() {
		TransactionTemplate outer = new TransactionTemplate(this.manager);
		long start = System.nanoTime();
		assertThatExceptionOfType(IllegalStateException.class)
			.isThrownBy(() -> outer.executeWithoutResult((status) -> runFailing()));
		assertThat(Duration.ofNanos(System.nanoTime() - start))
			.isLessThan(Duration.ofMillis(this.pool.getConnectionTimeout()));
		await().untilAsserted(() -> assertThat(record().state()).isEqualTo(State.FAILED));
	}

	/**
	 * Throws an error after a claim.
	 */
	private static final class FailingListener implements StoreObserver {

		private final AtomicInteger claims = new AtomicInteger();

		@Override
		public void storeCalled(String store, StoreCall call, StoreOutcome outcome, Duration duration) {
			if (call == StoreCall.CLAIM && this.claims.getAndDecrement() == 1) {
				throw new NoClassDefFoundError("after the claim");
			}
		}

	}

	/**
	 * Loses the answers to its commits, and lets another owner complete after a rollback.
	 */
	@SuppressWarnings("serial")
	private static final class TestManager extends JdbcTransactionManager {

		private @Nullable RuntimeException failure;

		private Runnable afterRollback = () -> {
		};

		TestManager(HikariDataSource pool) {
			super(pool);
		}

		@Override
		protected void doCommit(DefaultTransactionStatus status) {
			super.doCommit(status);
			if (this.failure != null) {
				throw this.failure;
			}
		}

		@Override
		protected void doRollback(DefaultTransactionStatus status) {
			super.doRollback(status);
			this.afterRollback.run();
		}

	}

}
