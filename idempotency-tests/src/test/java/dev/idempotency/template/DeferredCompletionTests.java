/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.caffeine.CaffeineCompletionCache;
import dev.idempotency.store.Claim;
import dev.idempotency.store.IdempotencyRecord;
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
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link TransactionBoundary#deferred}: a transaction of the caller decides.
 */
class DeferredCompletionTests {

	private static final Duration LEASE = Duration.ofSeconds(2);

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final IdempotencyKey key = TestDatabase.newKey();

	private final RecordingObserver listener = new RecordingObserver();

	private final UnreliableStore store = new UnreliableStore(database.store());

	private final IdempotencyTemplate template = new IdempotencyTemplate(this.store,
			new Settings(null, null, false, StoreCircuit.ALWAYS_CLOSED,
					new CaffeineCompletionCache(1_000_000, Duration.ofMinutes(1)), this.listener.observers(), List.of(),
					IdempotencyTemplate.Settings.DEFAULT_MAXIMUM_RESULT_SIZE, null, OperationSpec.Defaults.STANDARD));

	private final List<PendingCompletion> pending = new ArrayList<>();

	private final AtomicInteger runs = new AtomicInteger();

	@AfterEach
	void close() {
		this.store.recover();
		this.template.close();
	}

	private IdempotentResult<String> run() {
		return run(TestDatabase.LEASE);
	}

	private IdempotentResult<String> run(Duration lease) {
		return this.template.execute(TestDatabase.operation(this.key, Mode.LEASED, null, lease), new TextCodec(),
				TransactionBoundary.deferred(this.pending::add), null, () -> "run " + this.runs.incrementAndGet());
	}

	private PendingCompletion pending() {
		assertThat(this.pending).hasSize(1);
		return this.pending.get(0);
	}

	private State state() {
		return database.record(this.key).state();
	}

	private boolean isFree() {
		return one(database.store()).claim(TestDatabase.request(this.key)) instanceof Claim.Acquired;
	}

	private void assertNoMoreRenewals() {
		this.store.awaitEndOfRenewals(LEASE.dividedBy(2));
	}

	@Test
	@Tag("promise-1")
	void nothingIsCompletedBeforeTheTransactionHasCommitted() {
		assertThat(run()).isEqualTo(new IdempotentResult<>("run 1", false));
		assertThat(state()).isEqualTo(State.IN_PROGRESS);
		assertThatExceptionOfType(OperationInProgressException.class).isThrownBy(this::run)
			.withMessageContaining("by another owner");
		pending().complete();
		assertThat(state()).isEqualTo(State.COMPLETED);
		assertThat(run()).isEqualTo(new IdempotentResult<>("run 1", true));
		assertThat(this.pending).hasSize(1);
	}

	@Test
	@Tag("promise-1")
	void keyIsFreeAfterARollback() {
		run();
		pending().release();
		assertThat(state()).isEqualTo(State.FAILED);
		assertThat(run()).isEqualTo(new IdempotentResult<>("run 2", false));
	}

	@Test
	@Tag("promise-2")
	@Tag("slow")
	void keyIsLeftToItsLeaseWhenTheOutcomeIsUnknown() {
		run(LEASE);
		Instant until = database.record(this.key).claimedUntil();
		pending().abandon();
		assertThat(state()).isEqualTo(State.IN_PROGRESS);
		assertThat(database.record(this.key).claimedUntil()).isAfterOrEqualTo(until);
		assertNoMoreRenewals();
		await().until(this::isFree);
	}

	@Test
	@Tag("promise-2")
	@Tag("slow")
	void leaseIsRenewedUntilTheTransactionHasEnded() {
		run(LEASE);
		Instant end = database.record(this.key).claimedUntil().plus(LEASE);
		await().until(() -> database.record(this.key).claimedUntil().isAfter(end));
		assertThat(isFree()).isFalse();
		pending().complete();
		assertThat(state()).isEqualTo(State.COMPLETED);
		assertNoMoreRenewals();
	}

	@Test
	@Tag("slow")
	void releasedLeaseIsNotRenewed() {
		run(LEASE);
		await().until(() -> !this.store.renewals().isEmpty());
		pending().release();
		assertNoMoreRenewals();
	}

	@Test
	@Tag("promise-11")
	void deferredCompletionIsRecordedLaterWhenTheStoreIsUnavailable() {
		run();
		this.store.fail(StoreCall.COMPLETE);
		pending().complete();
		assertThat(state()).isEqualTo(State.IN_PROGRESS);
		this.store.recover();
		await().until(() -> state() == State.COMPLETED);
	}

	@Test
	@Tag("promise-2")
	@Tag("promise-11")
	void deferredCompletionIsRecordedLaterWhenTheStoreThrowsAnError() {
		run();
		this.store.breakOnce(StoreCall.COMPLETE);
		pending().complete();
		assertThat(this.listener.outcomes()).containsExactly(Outcome.PROCESSED);
		database.endLease(this.key);
		assertThat(run().duplicate()).isTrue();
		assertThat(this.runs).hasValue(1);
	}

	@Test
	@Tag("promise-11")
	void releaseIsRetriedWhenTheStoreThrowsAnError() {
		run();
		this.store.breakOnce(StoreCall.RELEASE);
		pending().release();
		assertThat(this.listener.outcomes()).containsExactly(Outcome.FAILED);
		await().until(() -> state() == State.FAILED);
	}

	@Test
	@Tag("promise-11")
	void releaseIsRetriedBeforeTheNextDeliveryWhenTheStoreIsUnavailable() {
		run();
		this.store.fail(StoreCall.RELEASE);
		pending().release();
		this.store.recover();
		assertThat(run()).isEqualTo(new IdempotentResult<>("run 2", false));
	}

	@Test
	@Tag("promise-4")
	void deferredCompletionIsLoggedAndChangesNothingWhenAnotherOwnerHasTheKey() {
		run();
		database.endLease(this.key);
		assertThat(isFree()).isTrue();
		try (Logs logs = new Logs()) {
			pending().complete();
			assertThat(logs.messages("ERROR")).singleElement()
				.asString()
				.contains(this.key.toString(), "its record was removed");
		}
		assertThat(database.record(this.key)).extracting(IdempotencyRecord::state, IdempotencyRecord::fence)
			.containsExactly(State.IN_PROGRESS, 2);
	}

	@Test
	void failedHandlerDefersNoCompletion() {
		assertThatIllegalStateException()
			.isThrownBy(() -> this.template.execute(TestDatabase.operation(this.key, Mode.LEASED), new TextCodec(),
					TransactionBoundary.deferred(this.pending::add), null, () -> {
						throw new IllegalStateException("handler");
					}));
		assertThat(this.pending).isEmpty();
		assertThat(state()).isEqualTo(State.FAILED);
		assertThat(this.listener.outcomes()).containsExactly(Outcome.FAILED);
	}

}
