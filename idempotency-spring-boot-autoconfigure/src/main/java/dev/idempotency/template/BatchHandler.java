/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.List;
import java.util.SortedMap;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotentExecution;
import dev.idempotency.Internal;
import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.store.Claim;

/**
 * The code that an {@link IdempotencyTemplate} runs for the items of a batch that are
 * due.
 *
 * @param <T> the type of the result of an item
 * @since 0.1.0
 */
public interface BatchHandler<T> {

	/**
	 * Process items. {@link IdempotentExecution#currentBatch()} returns their executions.
	 * @param due the indexes of the items, in the order of the batch
	 * @return a result for each of them, {@code null} if there are none
	 * @throws Throwable if processing fails
	 */
	@Nullable List<@Nullable T> handle(List<Integer> due) throws Throwable;

	/**
	 * Return the item at which the handler failed.
	 * @param error the exception that the handler threw
	 * @return the position of the failed item among those that were due, if all items
	 * before it are done; -1 if it is unknown
	 */
	default int failedAt(Throwable error) {
		return -1;
	}

	/**
	 * Return the decline of the item at which the handler failed. If there is one, the
	 * item has completed, and the handler is called again for the items after it.
	 * @param error the exception that the handler threw
	 * @return the decline, {@code null} if the item has failed
	 */
	default @Nullable OperationDeclinedException declinedBy(Throwable error) {
		return null;
	}

	/**
	 * Look up an item whose operation has run before, and whose completion was passed to
	 * {@link #defer} and is still pending. Called in {@link Mode#LEASED}, before the keys
	 * are claimed.
	 * @param item the index of the item
	 * @param operation its operation
	 * @return the completion of that operation, {@code null} if there is none
	 */
	default Claim.@Nullable Completed known(int item, IdempotentOperation operation) {
		return null;
	}

	/**
	 * Return how many items are completed now that the handler has returned. The
	 * completions of the items after them are passed to {@link #defer}. Called in
	 * {@link Mode#LEASED}, without a transaction of the caller.
	 * @param count the number of items that the handler processed
	 * @return how many of them, from the first, are completed at once
	 */
	default int completed(int count) {
		return count;
	}

	/**
	 * Keep completions until their outcome is known. Must not throw.
	 * @param items the indexes of the items
	 * @param pending the completion of each item
	 */
	@Internal
	default void defer(List<Integer> items, List<PendingCompletion> pending) {
		pending.forEach(PendingCompletion::complete);
	}

	/**
	 * One item of a batch.
	 *
	 * @param operation the operation, or {@code null} for an item that is handled without
	 * protection
	 * @param lane the sequence in which order is kept, such as a partition: an item is
	 * not handled while an earlier item of the same lane is blocked
	 * @since 0.1.0
	 */
	record BatchItem(@Nullable IdempotentOperation operation, Object lane) {

	}

	/**
	 * The result of a batch.
	 *
	 * @param results the result of each item, {@code null} if the item is not done and
	 * has to be redelivered
	 * @param blocked the items that can neither be handled nor skipped now, by their
	 * index. The later items of their lane are not done either
	 * @param failedAt the index of the item that failed or can never be handled; the
	 * items after it are not done. -1 if there is none, or if the failed item is unknown
	 * @param failure the reason, {@code null} if nothing failed
	 * @param <T> the type of the result of an item
	 * @since 0.1.0
	 */
	record BatchResult<T>(List<@Nullable IdempotentResult<T>> results,
			SortedMap<Integer, OperationBlockedException> blocked, int failedAt, @Nullable Throwable failure) {

	}

}
