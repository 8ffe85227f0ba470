/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;
import dev.idempotency.testsupport.UnreliableStore;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link IdempotencyTemplate} in {@link Mode#LEASED} while its store fails.
 */
@Tag("promise-11")
class StoreOutageTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final IdempotencyKey key = TestDatabase.newKey();

	private final IdempotentOperation operation = TestDatabase.operation(this.key, Mode.LEASED);

	private final RecordingObserver listener = new RecordingObserver();

	private final UnreliableStore store = new UnreliableStore(database.store());

	private final AtomicInteger runs = new AtomicInteger();

	private IdempotencyTemplate template(boolean failOpen) {
		return new IdempotencyTemplate(this.store, new Settings(null, failOpen, this.listener.observers()));
	}

	private IdempotentResult<String> run(IdempotencyTemplate template) {
		return template.execute(this.operation, new TextCodec(), () -> "run " + this.runs.incrementAndGet());
	}

	private void assertUnavailable(IdempotencyTemplate template) {
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(() -> run(template));
	}

	@Test
	void handlerDoesNotRunWithoutAClaim() {
		this.store.fail(StoreCall.CLAIM);
		assertUnavailable(template(false));
		assertThat(this.runs).hasValue(0);
		assertThat(this.listener.outcomes()).containsExactly(Outcome.UNAVAILABLE);
	}

	@Test
	void failedCallIsReported() {
		this.store.fail(StoreCall.CLAIM);
		assertUnavailable(template(false));
		assertThat(this.listener.storeCalls()).containsExactly("unreliable CLAIM unavailable");
		assertThat(this.listener.storeErrors()).singleElement()
			.isInstanceOf(IdempotencyStoreUnavailableException.class)
			.extracting(Throwable::getMessage)
			.asString()
			.contains("'unreliable'", "did not answer a claim", "topic-0@7");
	}

	@Test
	void handlerRunsUnprotectedWhenFailOpen() {
		this.store.fail(StoreCall.CLAIM);
		assertThat(run(template(true))).isEqualTo(new IdempotentResult<>("run 1", false));
		assertThat(this.listener.outcomes()).containsExactly(Outcome.UNPROTECTED);
	}

	@Test
	void logSaysOnceThatRecordsAreProcessedWithoutProtection() {
		this.store.fail(StoreCall.CLAIM);
		IdempotencyTemplate template = template(true);
		try (Logs logs = Logs.ofThisThread()) {
			run(template);
			run(template);
			assertThat(logs.messages("WARN")).singleElement().asString().contains("without protection", "No answer");
		}
	}

	@Test
	void exceptionOfAnUnprotectedHandlerIsRethrown() {
		this.store.fail(StoreCall.CLAIM);
		IllegalArgumentException error = new IllegalArgumentException("handler");
		assertThatExceptionOfType(IllegalArgumentException.class)
			.isThrownBy(() -> template(true).execute(this.operation, new TextCodec(), () -> {
				throw error;
			}))
			.isSameAs(error);
	}

	@Test
	void pendingCompletionIsReported() {
		this.store.fail(StoreCall.COMPLETE);
		assertUnavailable(template(false));
		assertThat(this.listener.outcomes()).containsExactly(Outcome.UNAVAILABLE);
		assertThat(database.record(this.key).state()).isEqualTo(State.IN_PROGRESS);
	}

	@Test
	void pendingCompletionIsRetriedInsteadOfTheHandler() {
		this.store.fail(StoreCall.COMPLETE);
		IdempotencyTemplate template = template(false);
		assertUnavailable(template);
		this.store.recover();
		assertThat(run(template)).isEqualTo(new IdempotentResult<>("run 1", true));
		assertThat(this.runs).hasValue(1);
		assertThat(database.record(this.key).state()).isEqualTo(State.COMPLETED);
	}

	@Test
	void completionIsRetriedInsteadOfTheHandlerAfterALockConflict() {
		this.store.contend(StoreCall.COMPLETE);
		IdempotencyTemplate template = template(false);
		assertThatExceptionOfType(OperationBlockedException.class).isThrownBy(() -> run(template));
		this.store.recover();
		assertThat(run(template)).isEqualTo(new IdempotentResult<>("run 1", true));
		assertThat(this.runs).hasValue(1);
	}

	@Test
	@Tag("promise-1")
	void failureOfTheHandlerIsRethrownAfterALockConflict() {
		this.store.contend(StoreCall.FAIL);
		assertThatExceptionOfType(IllegalArgumentException.class)
			.isThrownBy(() -> template(false).execute(this.operation, new TextCodec(), () -> {
				throw new IllegalArgumentException("handler");
			}));
	}

	@Test
	@Tag("promise-4")
	void retriedCompletionHasTheSameToken() {
		this.store.fail(StoreCall.COMPLETE);
		IdempotencyTemplate template = template(false);
		assertUnavailable(template);
		assertUnavailable(template);
		this.store.recover();
		run(template);
		assertThat(this.store.completions()).hasSize(3).containsOnly(this.store.completions().get(0));
	}

	@Test
	void pendingCompletionIsRetriedAfterTheLease() {
		this.store.fail(StoreCall.COMPLETE);
		IdempotencyTemplate template = template(false);
		assertUnavailable(template);
		database.endLease(this.key);
		this.store.recover();
		run(template);
		assertThat(this.runs).hasValue(1);
	}

	@Test
	void settledCompletionIsNotRetried() {
		this.store.fail(StoreCall.COMPLETE);
		IdempotencyTemplate template = template(false);
		assertUnavailable(template);
		this.store.recover();
		run(template);
		assertThat(run(template)).isEqualTo(new IdempotentResult<>("run 1", true));
		assertThat(this.store.completions()).hasSize(2);
	}

	@Test
	@Tag("promise-4")
	void pendingCompletionYieldsToANewOwner() {
		this.store.fail(StoreCall.COMPLETE);
		IdempotencyTemplate template = template(false);
		assertUnavailable(template);
		database.endLease(this.key);
		ClaimRequest owner = TestDatabase.request(this.key);
		one(database.store()).claim(owner);
		one(database.store()).complete(owner, "other".getBytes(StandardCharsets.UTF_8));
		this.store.recover();
		assertThat(run(template)).isEqualTo(new IdempotentResult<>("other", true));
	}

	@Test
	void handlerWithAnOpenCompletionDoesNotRunUnprotected() {
		this.store.fail(StoreCall.COMPLETE);
		IdempotencyTemplate template = template(true);
		assertUnavailable(template);
		assertUnavailable(template);
		assertThat(this.runs).hasValue(1);
	}

	@Test
	void failureThatCannotBeRecordedDoesNotHideTheErrorOfTheHandler() {
		this.store.fail(StoreCall.FAIL);
		assertThatExceptionOfType(IllegalArgumentException.class)
			.isThrownBy(() -> template(false).execute(this.operation, new TextCodec(), () -> {
				throw new IllegalArgumentException("handler");
			}));
		assertThat(this.listener.outcomes()).containsExactly(Outcome.FAILED);
	}

}
