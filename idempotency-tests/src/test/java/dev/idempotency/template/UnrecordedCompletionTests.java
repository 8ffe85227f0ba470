/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Mode;
import dev.idempotency.store.IdempotencyRecords.Change;
import dev.idempotency.store.IdempotencyRecords.Selection;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.IdempotencyAdmin.BulkEviction;
import dev.idempotency.template.IdempotencyAdmin.UnrecordedCompletion;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the {@link UnrecordedCompletion} of a handler that has run, until it is
 * settled.
 */
@Tag("promise-6")
class UnrecordedCompletionTests extends AbstractLeasedTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	UnrecordedCompletionTests() {
		super(database);
	}

	private List<IdempotencyKey> pending() {
		return this.template.admin().unrecorded().stream().map(UnrecordedCompletion::key).toList();
	}

	@ParameterizedTest
	@EnumSource
	void completionIsPendingUntilItIsRecorded(Way way) {
		this.store.fail(StoreCall.COMPLETE);
		way.run(this);
		await().untilAsserted(() -> assertThat(pending()).containsExactly(this.key));
		assertThat(this.template.admin().unrecorded().get(0).listener()).isEqualTo("payments");
		assertThat(this.listener.completions()).containsExactly("failed " + this.key.value());
		this.store.recover();
		this.template.settle();
		assertThat(pending()).isEmpty();
		await().untilAsserted(() -> assertThat(this.listener.completions())
			.containsExactly("failed " + this.key.value(), "SETTLED " + this.key.value()));
	}

	@Test
	@Tag("promise-3")
	void keyWhoseCompletionIsPendingIsNotChangedByHand() {
		this.store.showRecords();
		this.store.fail(StoreCall.COMPLETE);
		Way.SINGLE.run(this);
		IdempotencyAdmin admin = this.template.admin();
		assertThat(admin.release(this.key, false, null)).isEqualTo(Change.PENDING);
		assertThat(admin.evict(this.key, false, null)).isEqualTo(Change.PENDING);
		assertThat(admin.evict(TestDatabase.newKey(), false, null)).isNotEqualTo(Change.PENDING);
		database.endLease(this.key);
		Selection selection = new Selection(this.key.scope(), this.key.value(), null, null);
		assertThat(admin.countEvictable(selection, false, 10, null)).isEqualTo(new BulkEviction(0, 1, true, null));
		assertThat(admin.countEvictable(selection, true, 10, null)).isEqualTo(new BulkEviction(1, 0, true, null));
		assertThat(admin.evictAll(selection, false, 10, null, null)).isEqualTo(new BulkEviction(0, 1, true, null));
		this.store.recover();
		this.template.settle();
		assertThat(admin.release(this.key, false, null)).isEqualTo(Change.COMPLETED);
	}

	@Test
	@Tag("promise-4")
	void completionAfterAReleaseIsReportedAsLost() {
		this.store.fail(StoreCall.COMPLETE);
		Way.SINGLE.run(this);
		database.store().records().orElseThrow().release(this.key, true);
		this.store.recover();
		this.template.settle();
		await().untilAsserted(() -> assertThat(this.listener.completions())
			.containsExactly("failed " + this.key.value(), "LOST " + this.key.value()));
		assertThat(pending()).isEmpty();
	}

	@Test
	void failureThatCouldNotBeRecordedIsNotPending() {
		this.store.fail(StoreCall.FAIL, StoreCall.CLAIM, StoreCall.RELEASE);
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
			.isThrownBy(() -> this.template.execute(this.operation, ResultCodec.none(), () -> null));
		this.store.recoverFrom(StoreCall.CLAIM);
		IdempotentOperation other = TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED);
		assertThatExceptionOfType(IllegalStateException.class)
			.isThrownBy(() -> this.template.execute(other, ResultCodec.none(), () -> {
				throw new IllegalStateException("handler");
			}));
		assertThat(pending()).isEmpty();
		assertThat(this.listener.completions()).isEmpty();
	}

	/**
	 * The ways to run a handler.
	 */
	enum Way {

		SINGLE {

			@Override
			void run(UnrecordedCompletionTests test) {
				assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
					.isThrownBy(() -> test.template.execute(test.operation, new TextCodec(), () -> "paid"));
			}

		},

		BATCH {

			@Override
			void run(UnrecordedCompletionTests test) {
				test.template.executeAll(List.of(new BatchItem(test.operation, 0)), new TextCodec(),
						(due) -> List.of("paid"));
			}

		},

		ASYNC {

			@Override
			void run(UnrecordedCompletionTests test) {
				test.template.executeAsync(test.operation, new TextCodec(),
						() -> CompletableFuture.completedFuture("paid"));
			}

		},

		DEFERRED {

			@Override
			void run(UnrecordedCompletionTests test) {
				List<PendingCompletion> pending = new ArrayList<>();
				test.template.execute(test.operation, new TextCodec(), TransactionBoundary.deferred(pending::add), null,
						() -> "paid");
				pending.forEach(PendingCompletion::complete);
			}

		};

		abstract void run(UnrecordedCompletionTests test);

	}

}
