/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.ArrayList;
import java.util.List;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.BatchOf.IndexFailure;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for batches whose completions wait for an acknowledgment or for the outcome of a
 * transaction.
 */
@Tag("promise-1")
class DeferredBatchTests {

	@RegisterExtension
	static TestDatabase database = BatchOf.createDatabase();

	private final BatchOf batch = new BatchOf(database, Mode.LEASED, false);

	private final List<PendingCompletion> pending = new ArrayList<>();

	@AfterEach
	void close() {
		this.batch.template().close();
	}

	// Only the first item is acknowledged.
	private BatchResult<String> runWithOneAcknowledged(String letters) {
		return run(letters, TransactionBoundary.DEFAULT, new Acknowledging());
	}

	private BatchResult<String> run(String letters, TransactionBoundary boundary, BatchHandler<String> handler) {
		return this.batch.template()
			.executeAll(this.batch.items(letters), Mode.LEASED, new TextCodec(), boundary, handler);
	}

	private List<State> states(String... letters) {
		return List.of(letters).stream().map((letter) -> this.batch.record(letter).state()).toList();
	}

	@Test
	void completionsOfItemsThatAreNotAcknowledgedArePending() {
		assertThat(BatchOf.text(runWithOneAcknowledged("a b - c"))).isEqualTo("0 1 2 3");
		assertThat(states("a", "b", "c")).containsExactly(State.COMPLETED, State.IN_PROGRESS, State.IN_PROGRESS);
		assertThat(this.batch.outcomes()).containsExactly(Outcome.PROCESSED);
		assertThat(this.pending).hasSize(2).allSatisfy((one) -> assertThat(one.outcome()).isNull());
		PendingCompletion all = PendingCompletion.all(this.pending);
		assertThat(all.complete()).isEqualTo(Settlement.SETTLED);
		assertThat(all.outcome()).isEqualTo(Settlement.SETTLED);
		assertThat(states("b", "c")).containsOnly(State.COMPLETED);
		assertThat(this.batch.outcomes()).containsExactly(Outcome.PROCESSED, Outcome.PROCESSED, Outcome.PROCESSED);
		assertThat(BatchOf.text(this.batch.run("c b"))).isEqualTo("[3] [1]");
	}

	@Test
	void releasedCompletionsRunAgain() {
		runWithOneAcknowledged("a b c");
		PendingCompletion.all(this.pending).release();
		assertThat(this.batch.outcomes()).containsExactly(Outcome.PROCESSED, Outcome.FAILED, Outcome.FAILED);
		assertThat(BatchOf.text(this.batch.run("a b c"))).isEqualTo("[0] b c");
	}

	@Test
	@Tag("promise-4")
	void lossOfAPendingKeyIsReportedForItsItemOnly() {
		runWithOneAcknowledged("a b c");
		database.endLease(this.batch.key("b"));
		this.batch.hold("b");
		PendingCompletion all = PendingCompletion.all(this.pending);
		assertThat(all.complete()).isEqualTo(Settlement.LOST);
		assertThat(all.outcome()).isEqualTo(Settlement.LOST);
		assertThat(this.batch.outcomes()).containsExactly(Outcome.PROCESSED, Outcome.LOST, Outcome.PROCESSED);
		assertThat(states("b", "c")).containsExactly(State.IN_PROGRESS, State.COMPLETED);
	}

	@Test
	void completionThatIsPendingIsReplayed() {
		runWithOneAcknowledged("a b c");
		BatchResult<String> again = run("b c", TransactionBoundary.DEFAULT, new Acknowledging() {

			@Override
			public Claim.@Nullable Completed known(int item, IdempotentOperation operation) {
				return DeferredBatchTests.this.pending.stream()
					.map((one) -> one.find(operation))
					.filter((known) -> known != null)
					.findFirst()
					.orElse(null);
			}

		});
		assertThat(BatchOf.text(again)).isEqualTo("[1] [2]");
	}

	@Test
	void singleCompletionIsNotJoined() {
		runWithOneAcknowledged("a b");
		assertThat(PendingCompletion.all(this.pending)).isSameAs(this.pending.get(0))
			.asString()
			.contains(this.batch.key("b").toString());
	}

	@Test
	void completionsArePendingForNoHandlerThatDoesNotKeepThem() {
		run("a b", TransactionBoundary.DEFAULT, new BatchHandler<>() {

			@Override
			public List<@Nullable String> handle(List<Integer> due) {
				return List.of("one", "two");
			}

			@Override
			public int completed(int count) {
				return 1;
			}

		});
		assertThat(states("a", "b")).containsOnly(State.COMPLETED);
	}

	@Test
	@Tag("promise-14")
	void itemsBehindOneWhoseCompletionIsRefusedAreCompletedAtOnce() {
		this.batch.store().before(StoreCall.COMPLETE, (claim) -> {
			if (claim.key().equals(this.batch.key("a"))) {
				throw new IdempotencyStoreRefusedException("The result is too large", null);
			}
		});
		assertThat(BatchOf.text(runWithOneAcknowledged("a b"))).isEqualTo("- 1");
		assertThat(this.pending).isEmpty();
		assertThat(states("b")).containsExactly(State.COMPLETED);
	}

	@Test
	void batchOfATransactionIsReleasedWhenOneItemIsBlocked() {
		this.batch.hold("b");
		assertThat(run("a b c", TransactionBoundary.deferred(this.pending::add), new Acknowledging()).blocked())
			.containsKey(1);
		assertThat(this.pending).isEmpty();
		assertThat(this.batch.runs()).isEmpty();
		assertThat(states("a")).containsExactly(State.FAILED);
	}

	@Test
	void itemsBeforeAFailureAreReleasedWithTheTransaction() {
		BatchResult<String> executed = run("a b c", TransactionBoundary.deferred(this.pending::add),
				new Failing(new IndexFailure(1)));
		assertThat(executed.failedAt()).isEqualTo(1);
		assertThat(this.pending).isEmpty();
		assertThat(states("a", "b", "c")).containsOnly(State.FAILED);
		assertThat(this.batch.record("a").failure()).isNull();
		assertThat(this.batch.record("b").failure()).isNotNull();
	}

	@Test
	void itemsBeforeAFailureArePendingWhenTheTransactionCommits() {
		run("a b c", TransactionBoundary.deferred(this.pending::add), new Failing(new NackedException()));
		assertThat(this.pending).hasSize(1);
		this.pending.get(0).complete();
		assertThat(states("a", "b", "c")).containsExactly(State.COMPLETED, State.FAILED, State.FAILED);
	}

	@Test
	void itemAtWhichTheHandlerIsBlockedIsReleased() {
		BatchResult<String> executed = run("a b c", TransactionBoundary.DEFAULT,
				new Failing(new IndexFailure(1, new OperationInProgressException("nested", TestDatabase.TIMEOUT))));
		assertThat(executed.blocked()).containsKey(1);
		assertThat(executed.failure()).isNull();
		assertThat(states("a", "b", "c")).containsExactly(State.COMPLETED, State.FAILED, State.FAILED);
		assertThat(this.batch.record("b").failure()).isNull();
	}

	@Test
	void allItemsAreReleasedWhenTheHandlerIsBlockedAtAnUnknownOne() {
		BatchResult<String> executed = run("a b", TransactionBoundary.DEFAULT,
				new Failing(new OperationInProgressException("nested", TestDatabase.TIMEOUT)));
		assertThat(executed.blocked()).containsOnlyKeys(0, 1);
		assertThat(states("a", "b")).containsOnly(State.FAILED);
		assertThat(this.batch.record("a").failure()).isNull();
		assertThat(this.batch.outcomes()).containsOnly(Outcome.BLOCKED);
	}

	@Test
	void transactionOfTheCallerDecidesOnTheWholeBatch() {
		List<BatchItem> items = this.batch.items("a b");
		this.batch.template()
			.executeAll(items, Mode.LEASED, new TextCodec(), TransactionBoundary.deferred(this.pending::add),
					new Acknowledging());
		assertThat(this.pending).hasSize(1);
		assertThat(states("a", "b")).containsOnly(State.IN_PROGRESS);
		assertThat(this.batch.outcomes()).isEmpty();
		this.pending.get(0).complete();
		assertThat(states("a", "b")).containsOnly(State.COMPLETED);
		assertThat(this.batch.outcomes()).containsExactly(Outcome.PROCESSED, Outcome.PROCESSED);
	}

	/**
	 * Acknowledges the first item and keeps the completions of the others.
	 */
	private class Acknowledging implements BatchHandler<String> {

		@Override
		public List<@Nullable String> handle(List<Integer> due) {
			return due.stream().<@Nullable String>map(String::valueOf).toList();
		}

		@Override
		public int completed(int count) {
			return 1;
		}

		@Override
		public void defer(List<Integer> items, List<PendingCompletion> completions) {
			DeferredBatchTests.this.pending.addAll(completions);
		}

	}

	/**
	 * Fails after it has processed its items.
	 */
	private static final class Failing implements BatchHandler<String> {

		private final Exception failure;

		Failing(Exception failure) {
			this.failure = failure;
		}

		@Override
		public List<@Nullable String> handle(List<Integer> due) throws Exception {
			throw this.failure;
		}

		@Override
		public int failedAt(Throwable error) {
			return (error instanceof IndexFailure index) ? index.index() : (error instanceof NackedException) ? 1 : -1;
		}

	}

}
