/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.io.IOException;
import java.time.Duration;
import java.util.List;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.dao.DataAccessException;
import org.springframework.dao.DataIntegrityViolationException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionSystemException;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OperationLostException;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowable;

/**
 * Tests for {@link IdempotencyTemplate} in {@link Mode#TRANSACTIONAL} when a handler or
 * its transaction fails.
 */
@ParameterizedClass
@MethodSource("managers")
@Tag("promise-5")
class TransactionalFailureTests {

	@RegisterExtension
	static TestDatabase database = EffectOperation.createDatabase();

	@Parameter
	private PlatformTransactionManager manager;

	private EffectOperation operation;

	static List<Named<PlatformTransactionManager>> managers() {
		return EffectOperation.managers(database.pool());
	}

	@BeforeEach
	void createOperation() {
		this.operation = new EffectOperation(database, this.manager);
	}

	private void runFailing() throws IOException {
		this.operation.<IOException>run((jdbc) -> {
			throw new IOException("no route " + "x".repeat(1000));
		});
	}

	private static void createCheckedTable() {
		database.jdbc().execute("CREATE TABLE IF NOT EXISTS checked (name text UNIQUE DEFERRABLE INITIALLY DEFERRED)");
	}

	private void runWithFailingCommit() {
		createCheckedTable();
		this.operation.<RuntimeException>run((jdbc) -> jdbc.update("INSERT INTO checked VALUES ('a'), ('a')"));
	}

	private void runInAKilledSession() {
		this.operation.<RuntimeException>run((jdbc) -> {
			Integer session = jdbc.queryForObject("SELECT pg_backend_pid()", Integer.class);
			database.jdbc().queryForObject("SELECT pg_terminate_backend(?, 5000)", Boolean.class, session);
		});
	}

	@Test
	void checkedExceptionOfTheHandlerIsRethrownUnchanged() {
		assertThatExceptionOfType(IOException.class).isThrownBy(this::runFailing).withMessageStartingWith("no route");
		assertThat(this.operation.outcomes()).containsExactly(Outcome.FAILED);
	}

	@Test
	void failedHandlerLeavesNoEffect() {
		assertThatExceptionOfType(IOException.class).isThrownBy(this::runFailing);
		assertThat(this.operation.effects()).isZero();
	}

	@Test
	void failedHandlerLeavesItsErrorCut() {
		assertThatExceptionOfType(IOException.class).isThrownBy(this::runFailing);
		assertThat(this.operation.record()).hasValueSatisfying((noted) -> {
			assertThat(noted.state()).isEqualTo(State.FAILED);
			assertThat(noted.attempt()).isOne();
			assertThat(noted.failure().type()).isEqualTo("java.io.IOException");
			assertThat(noted.failure().message()).hasSize(500).startsWith("no route xxx");
		});
	}

	@Test
	void failedOperationRunsAgainAsTheNextAttempt() {
		assertThatExceptionOfType(IOException.class).isThrownBy(this::runFailing);
		this.operation
			.<RuntimeException>run((jdbc) -> assertThat(IdempotentExecution.current().attempt()).isEqualTo(2));
		assertThat(this.operation.effects()).isOne();
		assertThat(this.operation.record()).get().extracting(IdempotencyRecord::state).isEqualTo(State.COMPLETED);
	}

	@Test
	void repeatedFailuresAreCounted() {
		assertThatExceptionOfType(IOException.class).isThrownBy(this::runFailing);
		assertThatExceptionOfType(IOException.class).isThrownBy(this::runFailing);
		assertThat(this.operation.record()).get().extracting(IdempotencyRecord::attempt).isEqualTo(2);
	}

	@Test
	@Tag("promise-1")
	void failureOfAHandlerThatHasCommittedItsTransactionIsRecordedAndTheOperationRunsAgain() {
		assertThatIllegalStateException().isThrownBy(() -> runCommitting(new IllegalStateException("late")));
		assertThat(this.operation.record()).hasValueSatisfying((noted) -> {
			assertThat(noted.state()).isEqualTo(State.FAILED);
			assertThat(noted.attempt()).isOne();
			assertThat(noted.failure().message()).isEqualTo("late");
		});
		this.operation
			.<RuntimeException>run((jdbc) -> assertThat(IdempotentExecution.current().attempt()).isEqualTo(2));
		assertThat(this.operation.outcomes()).containsExactly(Outcome.FAILED, Outcome.PROCESSED);
	}

	@Test
	@Tag("promise-1")
	void blockedHandlerThatHasCommittedItsTransactionRunsAgainAndUsesNoAttempt() {
		assertThatExceptionOfType(OperationInProgressException.class)
			.isThrownBy(() -> runCommitting(new OperationInProgressException("nested", Duration.ZERO)));
		assertThat(this.operation.record()).get().extracting(IdempotencyRecord::failure).isNull();
		this.operation.<RuntimeException>run((jdbc) -> assertThat(IdempotentExecution.current().attempt()).isOne());
		assertThat(this.operation.outcomes()).containsExactly(Outcome.BLOCKED, Outcome.PROCESSED);
	}

	// As when a flush of JPA fails: nothing is sent to the database.
	@Test
	@Tag("promise-1")
	void failureBeforeTheCommitOfAHandlerThatHasCommittedItsTransactionIsNotInDoubt() {
		assertThatIllegalStateException().isThrownBy(() -> this.operation.<RuntimeException>run((jdbc) -> {
			EffectOperation.commit(jdbc);
			TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

				@Override
				public void beforeCommit(boolean readOnly) {
					throw new IllegalStateException("flush");
				}

			});
		})).withMessage("flush");
		assertThat(this.operation.record()).get().extracting(IdempotencyRecord::state).isEqualTo(State.FAILED);
	}

	// Only JdbcTransactionManager rolls the transaction back.
	@Test
	@Tag("promise-1")
	void constraintAtTheCommitOfAHandlerThatHasCommittedItsTransactionIsAFailure() {
		createCheckedTable();
		Throwable error = catchThrowable(() -> this.operation.<RuntimeException>run((jdbc) -> {
			EffectOperation.commit(jdbc);
			jdbc.update("INSERT INTO checked VALUES ('b'), ('b')");
		}));
		boolean isKnown = this.manager instanceof JdbcTransactionManager;
		assertThat(error).isInstanceOf(isKnown ? DataIntegrityViolationException.class : OperationLostException.class);
		assertThat(this.operation.record()).get()
			.extracting(IdempotencyRecord::state)
			.isEqualTo(isKnown ? State.FAILED : State.COMPLETED);
	}

	private void runCommitting(RuntimeException error) {
		this.operation.<RuntimeException>run((jdbc) -> {
			EffectOperation.commit(jdbc);
			throw error;
		});
	}

	@Test
	@Tag("postgresql")
	void failedCommitIsAFailureOfTheHandler() {
		assertThatException().isThrownBy(this::runWithFailingCommit).isNotInstanceOf(OperationBlockedException.class);
		assertThat(this.operation.outcomes()).containsExactly(Outcome.FAILED);
		assertThat(this.operation.effects()).isZero();
		assertThat(this.operation.record()).get().extracting(IdempotencyRecord::state).isEqualTo(State.FAILED);
	}

	@Test
	@Tag("promise-7")
	@Tag("postgresql")
	void killedSessionIsAFailureAndLeavesNoEffectAndNoCompletion() {
		assertThatExceptionOfType(TransactionSystemException.class).isThrownBy(this::runInAKilledSession)
			.satisfies((failure) -> assertThat(OperationBlockedException.in(failure)).isNull());
		assertThat(this.operation.outcomes()).containsExactly(Outcome.FAILED);
		assertThat(this.operation.effects()).isZero();
		assertThat(this.operation.record()).get().extracting(IdempotencyRecord::state).isEqualTo(State.FAILED);
	}

	@Test
	@Tag("promise-7")
	@Tag("postgresql")
	void operationRunsAgainAfterItsSessionWasKilled() {
		assertThatException().isThrownBy(this::runInAKilledSession);
		assertThat(this.operation.run().duplicate()).isFalse();
		assertThat(this.operation.effects()).isOne();
	}

	@Test
	@Tag("promise-1")
	@Tag("postgresql")
	void databaseErrorThatTheHandlerSwallowedIsAFailureAndNoOutage() {
		assertThatExceptionOfType(UnexpectedRollbackException.class)
			.isThrownBy(() -> this.operation.<RuntimeException>run(TransactionalFailureTests::swallow));
		assertThat(this.operation.effects()).isZero();
		assertThat(this.operation.record())
			.hasValueSatisfying((record) -> assertThat(record.state()).isEqualTo(State.FAILED));
	}

	// The engine executes no statement after the handler, and the driver reports success
	// when the server answers a COMMIT with ROLLBACK.
	@Test
	@Tag("promise-1")
	@Tag("promise-15")
	@Tag("postgresql")
	void databaseErrorThatAHandlerWithoutAResultSwallowedIsAFailure() {
		assertThatExceptionOfType(UnexpectedRollbackException.class)
			.isThrownBy(() -> this.operation.<RuntimeException>runWithoutResult(TransactionalFailureTests::swallow));
		assertThat(this.operation.effects()).isZero();
		assertThat(this.operation.outcomes()).containsExactly(Outcome.FAILED);
		assertThat(this.operation.record()).get().extracting(IdempotencyRecord::state).isEqualTo(State.FAILED);
	}

	private static void swallow(JdbcTemplate jdbc) {
		try {
			jdbc.execute("SELECT 1 / 0");
		}
		catch (DataAccessException ex) {
			assertThat(ex).isNotNull();
		}
	}

	@Test
	void databaseErrorOfTheHandlerIsAFailure() {
		assertThatExceptionOfType(DataAccessException.class)
			.isThrownBy(() -> this.operation.<RuntimeException>run((jdbc) -> jdbc.execute("SELECT 1 / 0")));
		assertThat(this.operation.record()).get().extracting(IdempotencyRecord::state).isEqualTo(State.FAILED);
	}

}
