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
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.StringSerializer;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.transaction.KafkaTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionSystemException;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OperationLostException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

/**
 * Tests for leased mode in a Spring transaction of the caller, whose outcome decides.
 */
@Tag("promise-1")
class CallerTransactionTests extends AbstractLeasedTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	CallerTransactionTests() {
		super(database);
	}

	private static TransactionTemplate transaction(int propagation) {
		TransactionTemplate transaction = new TransactionTemplate(manager());
		transaction.setPropagationBehavior(propagation);
		return transaction;
	}

	private static TransactionTemplate transaction() {
		return transaction(TransactionDefinition.PROPAGATION_REQUIRED);
	}

	private static PlatformTransactionManager manager() {
		return new JdbcTransactionManager(database.pool());
	}

	@Test
	void completionIsRecordedWhenTheTransactionHasCommitted() {
		transaction().executeWithoutResult((status) -> {
			assertThat(run()).isEqualTo(new IdempotentResult<>("run 1", false));
			assertThat(state()).isEqualTo(State.IN_PROGRESS);
			assertThat(this.listener.outcomes()).isEmpty();
		});
		await().until(() -> state() == State.COMPLETED);
		await().untilAsserted(() -> assertThat(this.listener.outcomes()).containsExactly(Outcome.PROCESSED));
		assertThat(run()).isEqualTo(new IdempotentResult<>("run 1", true));
	}

	@Test
	void keyIsReleasedWhenTheTransactionIsRolledBack() {
		transaction().executeWithoutResult((status) -> {
			run();
			status.setRollbackOnly();
		});
		await().untilAsserted(() -> assertThat(this.listener.outcomes()).containsExactly(Outcome.FAILED));
		assertThat(run()).isEqualTo(new IdempotentResult<>("run 2", false));
	}

	// In a callback after the commit, a method with @Transactional joins the transaction
	// that has ended.
	@Test
	void completionAfterTheEndOfTheTransactionIsRecordedAtOnce() {
		PlatformTransactionManager manager = manager();
		TransactionTemplate transaction = new TransactionTemplate(manager);
		transaction.executeWithoutResult(
				(status) -> TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

					@Override
					public void afterCompletion(int status) {
						transaction.executeWithoutResult((joined) -> run());
					}

				}));
		await().untilAsserted(() -> assertThat(this.listener.outcomes()).containsExactly(Outcome.PROCESSED));
		assertThat(state()).isEqualTo(State.COMPLETED);
	}

	@Test
	void keyIsLeftToItsLeaseWhenTheOutcomeOfTheCommitIsUnknown() {
		JdbcTransactionManager unclear = new JdbcTransactionManager(database.pool()) {

			@Override
			protected void doCommit(DefaultTransactionStatus status) {
				super.doCommit(status);
				throw new TransactionSystemException("The connection was lost during the commit");
			}

		};
		assertThatExceptionOfType(TransactionSystemException.class)
			.isThrownBy(() -> new TransactionTemplate(unclear).executeWithoutResult((status) -> run()));
		assertThat(state()).isEqualTo(State.IN_PROGRESS);
		assertThatExceptionOfType(OperationInProgressException.class).isThrownBy(this::run);
	}

	@Test
	@Tag("promise-3")
	void secondCallInTheSameTransactionIsADuplicate() {
		transaction().executeWithoutResult((status) -> {
			run();
			assertThat(run()).isEqualTo(new IdempotentResult<>("run 1", true));
			BatchResult<String> batch = this.template.executeAll(List.of(new BatchItem(this.operation, 0)),
					new TextCodec(), (due) -> List.of("again"));
			assertThat(batch.results()).containsExactly(new IdempotentResult<>("run 1", true));
		});
		assertThat(this.runs).hasValue(1);
	}

	@Test
	void keyIsReleasedWhenTheTransactionIsRolledBackToASavepoint() {
		transaction().executeWithoutResult((outer) -> {
			transaction(TransactionDefinition.PROPAGATION_NESTED).executeWithoutResult((nested) -> {
				run();
				nested.setRollbackOnly();
			});
			assertThat(run()).isEqualTo(new IdempotentResult<>("run 2", false));
		});
		await().until(() -> state() == State.COMPLETED);
		assertThat(run()).isEqualTo(new IdempotentResult<>("run 2", true));
	}

	@Test
	void transactionOfItsOwnDecidesAlone() {
		transaction().executeWithoutResult((outer) -> {
			transaction(TransactionDefinition.PROPAGATION_REQUIRES_NEW).executeWithoutResult((inner) -> run());
			await().until(() -> state() == State.COMPLETED);
			outer.setRollbackOnly();
		});
		assertThat(run()).isEqualTo(new IdempotentResult<>("run 1", true));
	}

	@Test
	void batchIsReleasedWhenTheTransactionIsRolledBack() {
		List<BatchItem> items = List.of(new BatchItem(this.operation, 0),
				new BatchItem(TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED), 0));
		transaction().executeWithoutResult((status) -> {
			assertThat(this.template.executeAll(items, new TextCodec(), (due) -> List.of("one", "two")).results())
				.containsExactly(new IdempotentResult<>("one", false), new IdempotentResult<>("two", false));
			status.setRollbackOnly();
		});
		assertThat(this.template.executeAll(items, new TextCodec(), (due) -> List.of("three", "four")).results())
			.containsExactly(new IdempotentResult<>("three", false), new IdempotentResult<>("four", false));
	}

	@Test
	void failedHandlerReleasesItsKeyAtOnce() {
		transaction().executeWithoutResult((status) -> {
			assertThatIllegalStateException()
				.isThrownBy(() -> this.template.execute(this.operation, new TextCodec(), () -> {
					throw new IllegalStateException("handler");
				}));
			assertThat(state()).isEqualTo(State.FAILED);
		});
	}

	@Test
	@Tag("promise-4")
	void transactionIsNotCommittedWhenAnotherOwnerHasTakenTheKeyOver() {
		assertThatExceptionOfType(OperationLostException.class)
			.isThrownBy(() -> transaction().executeWithoutResult((status) -> {
				run();
				database.endLease(this.key);
				CompletableFuture.runAsync(this::run).join();
			}));
		await().untilAsserted(() -> assertThat(this.listener.outcomes()).contains(Outcome.PROCESSED, Outcome.FAILED));
		assertThat(run()).isEqualTo(new IdempotentResult<>("run 2", true));
	}

	@Test
	void asynchronousOperationIsRejectedInATransaction() {
		transaction().executeWithoutResult((status) -> assertThatIllegalStateException()
			.isThrownBy(() -> this.template.executeAsync(this.operation, new TextCodec(),
					() -> CompletableFuture.completedFuture("run " + this.runs.incrementAndGet())))
			.withMessageContaining("Call it outside of the transaction"));
		assertThat(this.runs).hasValue(0);
	}

	@Test
	@Tag("slow")
	void operationIsRejectedInATransactionWhoseOutcomeCannotBeObserved() {
		DefaultKafkaProducerFactory<String, String> producers = new DefaultKafkaProducerFactory<>(
				Map.of(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, Servers.kafka().getBrokersAsString()),
				new StringSerializer(), new StringSerializer());
		producers.setTransactionIdPrefix(Servers.unique("caller"));
		List<BatchItem> items = List.of(new BatchItem(this.operation, 0));
		try {
			new TransactionTemplate(new KafkaTransactionManager<>(producers)).executeWithoutResult((status) -> {
				assertUnobservable(this::run);
				assertUnobservable(() -> this.template.executeAll(items, new TextCodec(),
						(due) -> List.of("run " + this.runs.incrementAndGet())));
				assertUnobservable(() -> this.template.executeAsync(this.operation, new TextCodec(),
						() -> CompletableFuture.completedFuture("run " + this.runs.incrementAndGet())));
			});
		}
		finally {
			producers.destroy();
		}
		assertThat(run()).isEqualTo(new IdempotentResult<>("run 1", false));
	}

	private static void assertUnobservable(ThrowingCallable call) {
		assertThatIllegalStateException().isThrownBy(call)
			.withMessageContaining("transaction without synchronization")
			.withMessageContaining("call it outside of the transaction");
	}

	@Test
	@Tag("promise-4")
	void transactionIsNotCommittedWhenABatchHasLostOneOfItsKeys() {
		IdempotencyKey kept = TestDatabase.newKey();
		List<BatchItem> items = List.of(new BatchItem(lossy(this.key), 0), new BatchItem(lossy(kept), 1));
		List<State> states = new ArrayList<>();
		assertThatExceptionOfType(OperationLostException.class)
			.isThrownBy(() -> transaction().executeWithoutResult((status) -> {
				BatchResult<String> executed = this.template.executeAll(items, new TextCodec(), (due) -> {
					takeOver(IdempotentExecution.currentBatch().get(0));
					return List.of("one", "two");
				});
				assertThat(executed.blocked().get(0)).isInstanceOf(OperationLostException.class);
				states.add(database.record(kept).state());
			}));
		assertThat(states).containsExactly(State.IN_PROGRESS);
		assertThat(this.template.execute(TestDatabase.operation(kept, Mode.LEASED), new TextCodec(), () -> "again"))
			.isEqualTo(new IdempotentResult<>("again", false));
	}

	@Test
	@Tag("promise-4")
	void transactionIsNotCommittedWhenItsCallerSwallowsTheLossOfTheKey() {
		assertThatExceptionOfType(OperationLostException.class).isThrownBy(() -> transaction()
			.executeWithoutResult((status) -> assertThatExceptionOfType(OperationLostException.class)
				.isThrownBy(() -> this.template.execute(lossy(this.key), new TextCodec(), () -> {
					takeOver(IdempotentExecution.current());
					return "lost";
				}))));
		assertThat(this.listener.outcomes()).containsExactly(Outcome.LOST);
	}

	private static IdempotentOperation lossy(IdempotencyKey key) {
		return TestDatabase.operation(key, Mode.LEASED, null, Duration.ofMillis(600));
	}

	private void takeOver(IdempotentExecution execution) {
		database.endLease(this.key);
		assertThat(one(database.store()).claim(TestDatabase.request(this.key))).isInstanceOf(Claim.Acquired.class);
		await().until(execution::ownershipLost);
	}

	// The thread holds a connection that the other threads of a small pool wait for.
	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-2")
	void threadOfAnEndedTransactionDoesNotWaitForTheStore(boolean committed) {
		CountDownLatch returned = new CountDownLatch(1);
		AtomicBoolean hasReturned = new AtomicBoolean();
		this.store.before(committed ? StoreCall.COMPLETE : StoreCall.RELEASE, (claim) -> {
			try {
				hasReturned.set(returned.await(5, TimeUnit.SECONDS));
			}
			catch (InterruptedException ex) {
				throw new IllegalStateException(ex);
			}
		});
		transaction().executeWithoutResult((status) -> {
			run();
			if (!committed) {
				status.setRollbackOnly();
			}
		});
		returned.countDown();
		assertThat(run()).isEqualTo(new IdempotentResult<>(committed ? "run 1" : "run 2", committed));
		assertThat(hasReturned).isTrue();
	}

	@Test
	void queuedCompletionIsRecordedWhenTheTemplateIsClosed() {
		this.store.before(StoreCall.COMPLETE, (claim) -> await().pollDelay(Duration.ofMillis(300)).until(() -> true));
		transaction().executeWithoutResult((status) -> run());
		this.template.close();
		assertThat(state()).isEqualTo(State.COMPLETED);
	}

}
