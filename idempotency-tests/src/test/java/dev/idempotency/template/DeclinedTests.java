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
import java.util.concurrent.CompletionStage;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.IdempotencyAdmin.StoredOutcome;
import dev.idempotency.template.IdempotentOperation.Handler;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

/**
 * Tests for {@link Declined}: the handler ends its operation for good.
 */
@Tag("promise-3")
@Tag("promise-8")
class DeclinedTests extends AbstractLeasedTests {

	@RegisterExtension
	static TestDatabase database = EffectOperation.createDatabase();

	DeclinedTests() {
		super(database);
		this.store.showRecords();
	}

	private OperationDeclinedException decline(String reason, Object body) {
		return declined(() -> {
			this.runs.incrementAndGet();
			throw new OperationDeclinedException(reason, body);
		});
	}

	private OperationDeclinedException declined(Handler<String, RuntimeException> handler) {
		return catchThrowableOfType(OperationDeclinedException.class,
				() -> this.template.execute(this.operation, new TextCodec(), handler));
	}

	@Test
	void duplicateGetsTheSameDeclined() {
		OperationDeclinedException first = decline("account closed", "declined");
		OperationDeclinedException second = decline("other", null);
		assertThat(first)
			.extracting(OperationDeclinedException::reason, OperationDeclinedException::body,
					OperationDeclinedException::isDuplicate)
			.containsExactly("account closed", "declined", false);
		assertThat(second)
			.extracting(OperationDeclinedException::reason, OperationDeclinedException::body,
					OperationDeclinedException::isDuplicate)
			.containsExactly("account closed", "declined", true);
		assertThat(this.runs).hasValue(1);
		assertThat(this.listener.outcomes()).containsExactly(Outcome.DECLINED, Outcome.DUPLICATE);
		assertThat(state()).isEqualTo(State.COMPLETED);
		assertThat(this.template.admin().outcome(this.key)).get()
			.extracting(StoredOutcome::declineReason, (outcome) -> new String(outcome.result()))
			.containsExactly("account closed", "declined");
	}

	@Test
	void declinedWithoutABodyHasNone() {
		decline("no", null);
		assertThat(decline("no", null).body()).isNull();
		assertThat(this.template.admin().outcome(this.key)).get().extracting(StoredOutcome::result).isNull();
	}

	@Test
	void longReasonIsCut() {
		decline("x".repeat(600), "body");
		assertThat(decline("other", null).reason()).hasSize(OperationDeclinedException.MAX_REASON_LENGTH);
	}

	@Test
	void declinedThatIsTheCauseOfAnotherExceptionIsAFailure() {
		assertThatIllegalStateException()
			.isThrownBy(() -> this.template.execute(this.operation, new TextCodec(), () -> {
				throw new IllegalStateException(new OperationDeclinedException("nested"));
			}));
		assertThat(state()).isEqualTo(State.FAILED);
	}

	@Test
	void bodyOfAnotherTypeFailsTheOperation() {
		assertThatIllegalStateException()
			.isThrownBy(() -> this.template.execute(this.operation, new TextCodec(), () -> {
				throw new OperationDeclinedException("no", 7);
			}))
			.withMessageContaining("java.lang.Integer");
		assertThatIllegalStateException()
			.isThrownBy(() -> this.template.execute(this.operation, ResultCodec.none(), () -> {
				throw new OperationDeclinedException("no", "body");
			}))
			.withMessageContaining("there is no result");
		assertThat(state()).isEqualTo(State.FAILED);
	}

	@Test
	void resultThatLooksLikeADeclinedIsReplayed() {
		String result = "\0idem\0R\1\0\0\0\0";
		assertThat(this.template.execute(this.operation, new TextCodec(), () -> result).result()).isEqualTo(result);
		assertThat(run()).isEqualTo(new IdempotentResult<>(result, true));
		assertThat(this.template.admin().outcome(this.key)).get()
			.extracting(StoredOutcome::declineReason, (outcome) -> new String(outcome.result()))
			.containsExactly(null, result);
	}

	@Test
	@Tag("promise-11")
	void declinedIsRecordedWhenTheStoreIsAvailableAgain() {
		this.store.fail(StoreCall.COMPLETE);
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
			.isThrownBy(() -> this.template.execute(this.operation, new TextCodec(), () -> {
				throw new OperationDeclinedException("account closed");
			}));
		this.store.recover();
		assertThat(declined(() -> "runs again").isDuplicate()).isTrue();
	}

	@Test
	void declinedOfAFutureIsADuplicateLater() {
		CompletionStage<String> failed = CompletableFuture.failedFuture(new OperationDeclinedException("no", "body"));
		CompletableFuture<IdempotentResult<String>> first = this.template.executeAsync(this.operation, new TextCodec(),
				() -> failed.thenApply((value) -> value));
		assertThat(first).failsWithin(Duration.ofSeconds(20))
			.withThrowableThat()
			.havingCause()
			.isInstanceOfSatisfying(OperationDeclinedException.class, (ex) -> assertThat(ex.body()).isEqualTo("body"));
		assertThat(declined(() -> "runs again").isDuplicate()).isTrue();
		assertThat(this.listener.outcomes()).containsExactly(Outcome.DECLINED, Outcome.DUPLICATE);
	}

	@Test
	@Tag("promise-5")
	void writesAreRolledBackAndTheDeclinedIsCommitted() {
		EffectOperation effect = new EffectOperation(database, new JdbcTransactionManager(database.pool()));
		for (boolean duplicate : List.of(false, true)) {
			assertThatExceptionOfType(OperationDeclinedException.class)
				.isThrownBy(() -> effect.<RuntimeException>run((jdbc) -> {
					throw new OperationDeclinedException("account closed", "declined");
				}))
				.satisfies((ex) -> assertThat(ex.isDuplicate()).isEqualTo(duplicate))
				.satisfies((ex) -> assertThat(ex.body()).isEqualTo("declined"));
		}
		assertThat(effect.effects()).isZero();
		assertThat(effect.outcomes()).containsExactly(Outcome.DECLINED, Outcome.DUPLICATE);
	}

	@Test
	@Tag("promise-5")
	void declinedInATransactionOfTheCallerEndsWithIt() {
		JdbcTransactionManager manager = new JdbcTransactionManager(database.pool());
		EffectOperation effect = new EffectOperation(database, manager);
		EffectOperation.Handler<RuntimeException> declining = (jdbc) -> {
			throw new OperationDeclinedException("account closed");
		};
		assertThatExceptionOfType(OperationDeclinedException.class)
			.isThrownBy(() -> new TransactionTemplate(manager).execute((status) -> effect.run(declining)));
		assertThat(effect.record()).isEmpty();
		new TransactionTemplate(manager).executeWithoutResult(
				(status) -> catchThrowableOfType(OperationDeclinedException.class, () -> effect.run(declining)));
		assertThatExceptionOfType(OperationDeclinedException.class).isThrownBy(effect::run)
			.satisfies((ex) -> assertThat(ex.isDuplicate()).isTrue());
	}

}
