/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.OffsetMark;
import dev.idempotency.store.OffsetMarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The marks of processed offsets, for stores that have them.
 */
interface OffsetContract extends TransactionContract {

	private OffsetMarks marks() {
		Assumptions.assumeTrue(store().offsetMarks().isPresent(), "the store has no marks");
		return store().offsetMarks().orElseThrow();
	}

	private static OffsetMark mark(String topic, long offset) {
		return new OffsetMark("scope", topic, new UUID(1, 2), 3, offset);
	}

	private long raise(OffsetMark mark) {
		return commit(() -> marks().raise(List.of(mark), false).get(0));
	}

	@Test
	@Tag("promise-3")
	default void raisedMarkReturnsThePreviousOneAndNeverFalls() {
		String topic = Requests.newKey().value();
		assertThat(raise(mark(topic, 5))).isEqualTo(OffsetMarks.NONE);
		assertThat(marks().find(mark(topic, 0))).hasValue(5);
		assertThat(raise(mark(topic, 9))).isEqualTo(5);
		assertThat(raise(mark(topic, 7))).isEqualTo(9);
		assertThat(raise(mark(topic, 9))).isEqualTo(9);
		assertThat(raise(mark(topic, Long.MAX_VALUE))).isEqualTo(9);
		assertThat(marks().find(mark(topic, 0))).hasValue(Long.MAX_VALUE);
	}

	@Test
	@Tag("promise-5")
	default void markIsThatOfTheLastCommittedTransaction() {
		String topic = Requests.newKey().value();
		rollBack(() -> assertThat(marks().raise(List.of(mark(topic, 5)), false).get(0)).isEqualTo(OffsetMarks.NONE));
		assertThat(marks().find(mark(topic, 0))).isEmpty();
		raise(mark(topic, 3));
		rollBack(() -> {
			marks().raise(List.of(mark(topic, 5)), false).get(0);
			elsewhere(() -> assertThat(marks().find(mark(topic, 0))).hasValue(3));
		});
		assertThat(raise(mark(topic, 4))).isEqualTo(3);
	}

	@Test
	@Tag("promise-3")
	default void marksOfOtherScopesTopicsPartitionsAndTopicIdentitiesAreSeparate() {
		String topic = Requests.newKey().value();
		raise(mark(topic, 100));
		List.of(new OffsetMark("other", topic, new UUID(1, 2), 3, 1),
				new OffsetMark("scope", topic + "x", new UUID(1, 2), 3, 1),
				new OffsetMark("scope", topic, new UUID(1, 3), 3, 1),
				new OffsetMark("scope", topic, new UUID(1, 2), 4, 1))
			.forEach((other) -> assertThat(raise(other)).as("%s", other).isEqualTo(OffsetMarks.NONE));
		assertThat(raise(mark(topic, 101))).isEqualTo(100);
	}

	@Test
	@Tag("promise-3")
	default void severalMarksAreRaisedTogether() {
		String topic = Requests.newKey().value();
		raise(mark(topic, 4));
		List<OffsetMark> all = IntStream.range(0, 20)
			.mapToObj((partition) -> new OffsetMark("scope", topic, new UUID(1, 2), partition, 10 + partition))
			.toList();
		List<Long> previous = commit(() -> marks().raise(all, false));
		assertThat(previous).hasSize(20);
		assertThat(previous.get(3)).isEqualTo(4);
		assertThat(previous.get(4)).isEqualTo(OffsetMarks.NONE);
		assertThat(commit(() -> marks().raise(all, false))).isEqualTo(all.stream().map(OffsetMark::offset).toList());
		assertThat(marks().raise(List.of(), false)).isEmpty();
	}

	@Test
	@Tag("promise-2")
	default void raiseWaitsForAnotherTransactionAndSeesItsMark() {
		String topic = Requests.newKey().value();
		raise(mark(topic, 1));
		List<CompletableFuture<Long>> second = new ArrayList<>();
		commit(() -> {
			marks().raise(List.of(mark(topic, 2)), false).get(0);
			second.add(CompletableFuture.supplyAsync(() -> raiseOrInProgress(mark(topic, 2))));
			return null;
		});
		assertThat(second.get(0)).succeedsWithin(30, TimeUnit.SECONDS)
			.satisfies((previous) -> assertThat(previous).isIn(2L, Long.MIN_VALUE));
	}

	@Test
	@Tag("promise-2")
	default void raiseEndsInTimeWhileAnotherTransactionHoldsTheMark() {
		String topic = Requests.newKey().value();
		raise(mark(topic, 1));
		rollBack(() -> {
			marks().raise(List.of(mark(topic, 2)), false).get(0);
			CompletableFuture<Long> second = CompletableFuture.supplyAsync(() -> raiseOrInProgress(mark(topic, 2)));
			CompletableFuture<Long> joined = CompletableFuture.supplyAsync(() -> commit(() -> {
				try {
					return marks().raise(List.of(mark(topic, 2)), true).get(0);
				}
				catch (OperationInProgressException ex) {
					return Long.MIN_VALUE;
				}
			}));
			await().until(() -> second.isDone() && joined.isDone());
			assertThat(second).isCompletedWithValue(Long.MIN_VALUE);
		});
	}

	@Test
	@Tag("promise-2")
	@Tag("promise-5")
	default void eachOffsetIsNewForOneOfManyTransactions() throws Exception {
		// The assumption would be an error on another thread.
		marks();
		String topic = Requests.newKey().value();
		for (long offset = 0; offset < 10; offset++) {
			long next = offset;
			assertThat(Crowd.of(() -> raiseOrInProgress(mark(topic, next))))
				.filteredOn((previous) -> previous != Long.MIN_VALUE && previous < next)
				.hasSize(1);
		}
	}

	@Test
	default void loweredMarkMakesItsOffsetsNew() {
		String topic = Requests.newKey().value();
		raise(mark(topic, 9));
		assertThat(marks().lower("scope", topic, 3, 10)).as("the mark is not higher").isFalse();
		assertThat(marks().lower("scope", topic, 4, 5)).as("another partition").isFalse();
		assertThat(marks().lower("scope", topic, 3, 5)).isTrue();
		assertThat(marks().find(mark(topic, 0))).hasValue(4);
		assertThat(raise(mark(topic, 5))).isEqualTo(4);
		assertThat(marks().lower("scope", topic, 3, 0)).isTrue();
		assertThat(marks().find(mark(topic, 0))).isEmpty();
		assertThat(raise(mark(topic, 0))).isEqualTo(OffsetMarks.NONE);
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-3")
	default void markFallsToThePreviousOneIfTheSameTransactionHasRaisedItLast() {
		String topic = Requests.newKey().value();
		OffsetMark first = new OffsetMark("scope", topic, new UUID(1, 2), 3, 5, UUID.randomUUID());
		raise(first);
		store().settleAfterTransaction(Endings.released(List.of()), List.of(first));
		assertThat(raise(first)).isEqualTo(OffsetMarks.NONE);
		OffsetMark second = new OffsetMark("scope", topic, new UUID(1, 2), 3, 7, UUID.randomUUID());
		raise(second);
		store().settleAfterTransaction(Endings.released(List.of()), List.of(first, mark(topic, 7)));
		assertThat(marks().find(first)).hasValue(7);
		store().settleAfterTransaction(Endings.released(List.of()), List.of(second));
		store().settleAfterTransaction(Endings.released(List.of()), List.of(second));
		assertThat(marks().find(first)).hasValue(5);
	}

	@Test
	default void marksAreListed() {
		String topic = Requests.newKey().value();
		raise(mark(topic, 9));
		assertThat(marks().list(1000)).filteredOn((stored) -> stored.topic().equals(topic))
			.singleElement()
			.satisfies((stored) -> {
				assertThat(stored.scope()).isEqualTo("scope");
				assertThat(stored.topicId()).isEqualTo(new UUID(1, 2));
				assertThat(stored.partition()).isEqualTo(3);
				assertThat(stored.offset()).isEqualTo(9);
				assertThat(stored.updatedAt()).isCloseTo(Instant.now(), FindContract.CLOSE);
			});
		assertThat(marks().list(1)).hasSize(1);
	}

	private long raiseOrInProgress(OffsetMark mark) {
		try {
			return raise(mark);
		}
		catch (OperationInProgressException ex) {
			return Long.MIN_VALUE;
		}
	}

}
