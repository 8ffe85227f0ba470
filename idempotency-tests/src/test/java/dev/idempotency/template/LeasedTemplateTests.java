/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.io.IOException;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.jdbc.datasource.lookup.AbstractRoutingDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;

import dev.idempotency.IdempotencyKeyReusedException;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OperationLostException;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.store.Failure;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;
import dev.idempotency.testsupport.UnreliableStore;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link IdempotencyTemplate} in {@link Mode#LEASED}.
 */
class LeasedTemplateTests extends AbstractLeasedTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	LeasedTemplateTests() {
		super(database);
	}

	private void runFailing() throws IOException {
		this.template.execute(this.operation, new TextCodec(), () -> {
			throw new IOException("no route");
		});
	}

	private @Nullable String runWhileAnotherTakesOver(boolean fail) {
		return this.template.execute(this.operation, new TextCodec(), () -> {
			database.endLease(this.key);
			one(database.store()).claim(TestDatabase.request(this.key));
			if (fail) {
				throw new IllegalStateException("handler");
			}
			return "zombie";
		}).result();
	}

	@Test
	void modesDependOnTheStoreAndTheTransactionManager() {
		UnreliableStore leased = new UnreliableStore(database.store());
		JdbcTransactionManager manager = new JdbcTransactionManager(database.pool());
		try (IdempotencyTemplate both = new IdempotencyTemplate(database.store(),
				new Settings(manager, false, Observers.none()));
				IdempotencyTemplate one = new IdempotencyTemplate(leased,
						new Settings(manager, false, Observers.none()));
				IdempotencyTemplate none = new IdempotencyTemplate(database.store(),
						new Settings(null, false, Observers.none()))) {
			assertThat(both.store()).isSameAs(database.store());
			assertThat(both.supportsTransactions()).isTrue();
			assertThat(both.leaseProblem()).isNull();
			assertThat(one.supportsTransactions()).isFalse();
			assertThat(none.supportsTransactions()).isFalse();
		}
	}

	@Test
	void leasedModeIsRejectedWhenTheDatabaseDependsOnTheThread() {
		AbstractRoutingDataSource routing = new AbstractRoutingDataSource() {

			@Override
			protected Object determineCurrentLookupKey() {
				return "only";
			}

		};
		routing.setTargetDataSources(Map.of("only", database.pool()));
		routing.afterPropertiesSet();
		try (IdempotencyTemplate transactional = new IdempotencyTemplate(
				new JdbcIdempotencyStore(routing, TestDatabase.TABLE, TestDatabase.TIMEOUT),
				new Settings(null, false, Observers.none()))) {
			assertThat(transactional.leaseProblem()).isNotNull();
			assertThatIllegalStateException()
				.isThrownBy(() -> transactional.execute(this.operation, new TextCodec(), () -> "paid"))
				.withMessageContaining("chooses its database by the thread");
		}
	}

	@Test
	void keyIsInProgressWhileTheHandlerRuns() {
		this.template.execute(this.operation, new TextCodec(), () -> {
			assertThat(database.record(this.key).state()).isEqualTo(State.IN_PROGRESS);
			return null;
		});
	}

	@Test
	void keyIsCompletedAfterTheHandler() {
		assertThat(run()).isEqualTo(new IdempotentResult<>("run 1", false));
		assertThat(database.record(this.key).state()).isEqualTo(State.COMPLETED);
		assertThat(this.listener.outcomes()).containsExactly(Outcome.PROCESSED);
	}

	@Test
	@Tag("promise-2")
	void operationOfAnotherOwnerIsInProgress() {
		one(database.store()).claim(TestDatabase.request(this.key));
		assertThatExceptionOfType(OperationInProgressException.class).isThrownBy(this::run)
			.satisfies((ex) -> assertThat(ex.retryAfter()).isLessThanOrEqualTo(TestDatabase.LEASE).isPositive());
		assertThat(this.runs).hasValue(0);
		assertThat(this.listener.outcomes()).containsExactly(Outcome.IN_PROGRESS);
	}

	@Test
	void exceptionOfTheHandlerIsRethrownUnchanged() {
		assertThatExceptionOfType(IOException.class).isThrownBy(this::runFailing).withMessage("no route");
		assertThat(this.listener.outcomes()).containsExactly(Outcome.FAILED);
	}

	@Test
	void exceptionOfTheHandlerIsRecorded() {
		assertThatExceptionOfType(IOException.class).isThrownBy(this::runFailing);
		assertThat(database.record(this.key)).extracting(IdempotencyRecord::state, IdempotencyRecord::failure)
			.containsExactly(State.FAILED, new Failure("java.io.IOException", "no route"));
	}

	@Test
	void failedOperationRunsAgainAtOnce() {
		assertThatExceptionOfType(IOException.class).isThrownBy(this::runFailing);
		this.template.execute(this.operation, ResultCodec.none(), () -> {
			assertThat(IdempotentExecution.current().attempt()).isEqualTo(2);
			assertThat(IdempotentExecution.current().fence()).isEqualTo(2);
			return null;
		});
		assertThat(this.listener.outcomes()).containsExactly(Outcome.FAILED, Outcome.PROCESSED);
	}

	@Test
	@Tag("promise-4")
	void ownershipLossIsReportedToTheCaller() {
		assertThatExceptionOfType(OperationLostException.class).isThrownBy(() -> runWhileAnotherTakesOver(false));
		assertThat(this.listener.outcomes()).containsExactly(Outcome.LOST);
	}

	@Test
	@Tag("promise-4")
	void handlerWithoutOwnershipChangesNothing() {
		assertThatExceptionOfType(OperationLostException.class).isThrownBy(() -> runWhileAnotherTakesOver(false));
		assertThat(database.record(this.key)).extracting(IdempotencyRecord::state, IdempotencyRecord::fence)
			.containsExactly(State.IN_PROGRESS, 2);
	}

	@Test
	@Tag("promise-4")
	void ownershipLossOfAFailedHandlerIsReportedWithItsFailure() {
		assertThatExceptionOfType(OperationLostException.class).isThrownBy(() -> runWhileAnotherTakesOver(true))
			.withCauseInstanceOf(IllegalStateException.class);
		assertThat(database.record(this.key).state()).isEqualTo(State.IN_PROGRESS);
	}

	@Test
	@Tag("promise-9")
	void otherContentUnderTheSameKeyIsRejected() {
		run();
		IdempotentOperation other = TestDatabase.operation(this.key, Mode.LEASED, Fingerprint.of(new byte[] { 2 }),
				TestDatabase.LEASE);
		database.jdbc()
			.update("UPDATE idempotency_record SET fingerprint = ? WHERE id = ?", Fingerprint.of(new byte[] { 1 }),
					this.key.id());
		assertThatExceptionOfType(IdempotencyKeyReusedException.class)
			.isThrownBy(() -> this.template.execute(other, new TextCodec(), () -> "b"));
		assertThat(this.listener.outcomes()).containsExactly(Outcome.PROCESSED, Outcome.REJECTED);
	}

	@Test
	void executionIsUnboundAfterTheHandler() {
		run();
		assertThatIllegalStateException().isThrownBy(IdempotentExecution::current);
	}

}
