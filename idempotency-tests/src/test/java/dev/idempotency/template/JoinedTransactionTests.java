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

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link IdempotencyTemplate} in a transaction of the caller.
 */
@Tag("promise-5")
class JoinedTransactionTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private static JdbcTemplate jdbc;

	private static TransactionTemplate outer;

	private static IdempotencyTemplate template;

	private final IdempotencyKey key = TestDatabase.newKey();

	private final String value = Servers.unique("value");

	@BeforeAll
	static void createDatabase() {
		database.jdbc().execute("CREATE TABLE IF NOT EXISTS effect (name varchar(100))");
		jdbc = new JdbcTemplate(database.pool());
		JdbcTransactionManager manager = new JdbcTransactionManager(database.pool());
		outer = new TransactionTemplate(manager);
		template = new IdempotencyTemplate(database.store(), new Settings(manager, false, Observers.none()));
	}

	private IdempotentResult<String> run() {
		return template.execute(TestDatabase.operation(this.key, Mode.TRANSACTIONAL), new TextCodec(), this::effect);
	}

	private void runFailing() {
		template.execute(TestDatabase.operation(this.key, Mode.TRANSACTIONAL), new TextCodec(), () -> {
			effect();
			throw new IllegalStateException("handler");
		});
	}

	private String effect() {
		jdbc.update("INSERT INTO effect VALUES (?)", this.value);
		return "done";
	}

	// Without it, nothing would notice that the server has ended a transaction.
	@Test
	void managerWithoutSynchronizationIsRefused() {
		JdbcTransactionManager manager = new JdbcTransactionManager(database.pool());
		manager.setTransactionSynchronization(AbstractPlatformTransactionManager.SYNCHRONIZATION_NEVER);
		Settings settings = new Settings(manager, false, Observers.none());
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> new IdempotencyTemplate(database.store(), settings))
			.withMessageContaining("has no transaction synchronization");
	}

	// Otherwise the caller could commit a part of the effect of a failed handler.
	@Test
	void managerThatDoesNotMarkAJoinedTransactionIsRefused() {
		JdbcTransactionManager manager = new JdbcTransactionManager(database.pool());
		manager.setGlobalRollbackOnParticipationFailure(false);
		try (IdempotencyTemplate joining = new IdempotencyTemplate(database.store(),
				new Settings(manager, false, Observers.none()))) {
			IdempotentOperation operation = TestDatabase.operation(this.key, Mode.TRANSACTIONAL);
			new TransactionTemplate(manager)
				.executeWithoutResult((status) -> assertThatExceptionOfType(IdempotencyConfigurationException.class)
					.isThrownBy(() -> joining.execute(operation, ResultCodec.none(), () -> null))
					.withMessageContaining("does not mark a joined transaction for rollback"));
			new TransactionTemplate(manager)
				.executeWithoutResult((status) -> assertThatExceptionOfType(IdempotencyConfigurationException.class)
					.isThrownBy(() -> joining.<Object, RuntimeException>executeUnprotected("unprotected",
							Mode.TRANSACTIONAL, TransactionBoundary.DEFAULT, () -> null)));
			assertThat(joining.execute(operation, ResultCodec.none(), () -> null).duplicate()).isFalse();
		}
	}

	private long effects() {
		return database.jdbc().queryForObject("SELECT count(*) FROM effect WHERE name = ?", Long.class, this.value);
	}

	@Test
	void commitOfTheCallerCommitsEffectAndRecord() {
		outer.executeWithoutResult((status) -> {
			run();
			assertThat(one(database.store()).find(this.key)).isEmpty();
		});
		assertThat(effects()).isOne();
		assertThat(database.record(this.key).state()).isEqualTo(State.COMPLETED);
	}

	@Test
	void rollbackOfTheCallerRemovesEffectAndRecord() {
		outer.executeWithoutResult((status) -> {
			run();
			status.setRollbackOnly();
		});
		assertThat(effects()).isZero();
		assertThat(one(database.store()).find(this.key)).isEmpty();
	}

	// What the handler has written after its commit is rolled back with the caller.
	@Test
	@Tag("promise-1")
	void operationThatHasCommittedTheTransactionRunsAgainWhenItsCallerHasFailed() {
		assertThatIllegalStateException().isThrownBy(() -> outer.executeWithoutResult((status) -> {
			template.execute(TestDatabase.operation(this.key, Mode.TRANSACTIONAL), new TextCodec(), () -> {
				EffectOperation.commit(jdbc);
				return effect();
			});
			throw new IllegalStateException("caller");
		})).withMessage("caller");
		assertThat(run()).isEqualTo(new IdempotentResult<>("done", false));
		assertThat(effects()).isOne();
	}

	@Test
	@Tag("promise-1")
	void batchWaitsForTheFailureOfAnEarlierTransaction() {
		assertThatIllegalStateException().isThrownBy(() -> outer.executeWithoutResult((status) -> template
			.execute(TestDatabase.operation(this.key, Mode.TRANSACTIONAL), new TextCodec(), () -> {
				EffectOperation.commit(jdbc);
				throw new IllegalStateException("handler");
			}))).withMessage("handler");
		BatchItem item = new BatchItem(TestDatabase.operation(this.key, Mode.TRANSACTIONAL), 0);
		assertThat(template.executeAll(List.of(item), new TextCodec(), (due) -> List.of("batch")).results())
			.containsExactly(new IdempotentResult<>("batch", false));
	}

	@Test
	@Tag("promise-3")
	void duplicateLeavesTheTransactionOfTheCallerUsable() {
		run();
		outer.executeWithoutResult((status) -> {
			assertThat(run()).isEqualTo(new IdempotentResult<>("done", true));
			effect();
		});
		assertThat(effects()).isEqualTo(2);
	}

	@Test
	@Tag("promise-2")
	void keyInProgressLeavesTheTransactionOfTheCallerUsable() {
		one(database.store()).claim(TestDatabase.request(this.key));
		outer.executeWithoutResult((status) -> {
			assertThatExceptionOfType(OperationInProgressException.class).isThrownBy(this::run);
			effect();
		});
		assertThat(effects()).isOne();
	}

	@Test
	void sameKeyTwiceInOneTransactionRunsOnce() {
		outer.executeWithoutResult((status) -> {
			run();
			assertThat(run().duplicate()).isTrue();
		});
		assertThat(effects()).isOne();
	}

	@Test
	void failureIsNotedAfterTheRollbackOfTheCaller() {
		assertThatIllegalStateException().isThrownBy(() -> outer.executeWithoutResult((status) -> runFailing()));
		assertThat(effects()).isZero();
		awaitFailureNote();
		assertThat(database.record(this.key).failure())
			.isEqualTo(new Failure("java.lang.IllegalStateException", "handler"));
	}

	// The next execution waits until the completion is undone.
	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-1")
	void operationRunsAgainAfterTheRollbackOfTheCallerAlthoughItsHandlerHasCommitted(boolean isBlocked) {
		RuntimeException error = isBlocked ? new OperationInProgressException("nested", Duration.ZERO)
				: new IllegalStateException("handler");
		assertThatThrownBy(() -> outer.executeWithoutResult((status) -> template
			.execute(TestDatabase.operation(this.key, Mode.TRANSACTIONAL), ResultCodec.none(), () -> {
				EffectOperation.commit(jdbc);
				throw error;
			}))).isSameAs(error);
		outer.executeWithoutResult((status) -> assertThat(run().duplicate()).isFalse());
		assertThat(effects()).isOne();
		assertThat(database.record(this.key)).extracting(IdempotencyRecord::state, IdempotencyRecord::attempt)
			.containsExactly(State.COMPLETED, isBlocked ? 1 : 2);
	}

	// The caller catches the failure and commits, and the answer is lost.
	@Test
	@Tag("promise-3")
	void completionIsNotUndoneIfTheOutcomeOfTheTransactionOfTheCallerIsUnknown() {
		@SuppressWarnings("serial")
		JdbcTransactionManager broken = new JdbcTransactionManager(database.pool()) {

			@Override
			protected void doCommit(DefaultTransactionStatus status) {
				super.doCommit(status);
				throw new DataAccessResourceFailureException("no answer");
			}

		};
		IdempotencyTemplate joining = new IdempotencyTemplate(database.store(),
				new Settings(broken, false, Observers.none()));
		assertThatExceptionOfType(DataAccessResourceFailureException.class)
			.isThrownBy(() -> new TransactionTemplate(broken)
				.executeWithoutResult((status) -> assertThatIllegalStateException().isThrownBy(() -> joining
					.execute(TestDatabase.operation(this.key, Mode.TRANSACTIONAL), ResultCodec.none(), () -> {
						// As with a transaction manager whose settings are unknown.
						broken.setGlobalRollbackOnParticipationFailure(false);
						throw new IllegalStateException("handler");
					}))));
		joining.close();
		assertThat(run().duplicate()).isTrue();
	}

	@Test
	void failureThatTheCallerCatchesStillRollsBack() {
		assertThatExceptionOfType(UnexpectedRollbackException.class).isThrownBy(() -> outer
			.executeWithoutResult((status) -> assertThatIllegalStateException().isThrownBy(this::runFailing)));
		assertThat(effects()).isZero();
		awaitFailureNote();
	}

	@Test
	void failedOperationRunsInTheNextTransactionOfTheCaller() {
		assertThatIllegalStateException().isThrownBy(() -> outer.executeWithoutResult((status) -> runFailing()));
		awaitFailureNote();
		outer.executeWithoutResult((status) -> run());
		assertThat(effects()).isOne();
		assertThat(database.record(this.key)).extracting(IdempotencyRecord::state, IdempotencyRecord::attempt)
			.containsExactly(State.COMPLETED, 2);
	}

	// In a callback after its end, the transaction still looks active: its connection is
	// bound to the thread, and an operation would join it.
	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-15")
	void operationInATransactionThatHasEndedIsRefused(boolean committed) {
		List<Throwable> refused = new ArrayList<>();
		Runnable late = () -> refused.add(catchThrowable(this::run));
		outer.executeWithoutResult((status) -> {
			TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

				@Override
				public void afterCompletion(int status) {
					late.run();
					refused.add(catchThrowable(() -> template.executeUnprotected(JoinedTransactionTests.this.key,
							Mode.TRANSACTIONAL, TransactionBoundary.DEFAULT, JoinedTransactionTests.this::effect)));
					outer.executeWithoutResult((joined) -> late.run());
				}

			});
			if (!committed) {
				status.setRollbackOnly();
			}
		});
		assertThat(refused).hasSize(3)
			.allSatisfy((error) -> assertThat(error).isInstanceOf(IllegalStateException.class)
				.hasMessageContaining("has already ended")
				.hasMessageContaining(this.key.toString()));
		assertThat(effects()).isZero();
		run();
		assertThat(effects()).isOne();
	}

	// Another thread records the note, after the caller has returned its connection.
	private void awaitFailureNote() {
		await().untilAsserted(() -> assertThat(one(database.store()).find(this.key)).get()
			.extracting(IdempotencyRecord::state)
			.isEqualTo(State.FAILED));
	}

}
