/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import java.util.List;
import java.util.Optional;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.UnexpectedRollbackException;

import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * A store that can write the record in the transaction of the handler's own writes. The
 * methods for a current transaction use the connection that is bound to the current
 * thread. Their changes take effect if and only if that transaction commits.
 *
 * @since 0.1.0
 */
public interface TransactionalIdempotencyStore extends IdempotencyStore {

	/**
	 * Insert completed records for absent keys into the current transaction, with one
	 * statement. It may also answer for existing records that are not free. Most keys are
	 * new, and an insert is cheaper than a claim. The call waits for a concurrent
	 * transaction that has inserted the same key, no longer than the configured time.
	 * @param requests the requests, each key at most once
	 * @return the answers, in the order of the requests; empty for a key that must be
	 * claimed, and then the caller must roll the transaction back and call
	 * {@link #claimInTransaction} in a new one
	 * @throws OperationInProgressException if the concurrent transaction took longer and
	 * the store cannot tell which key it holds; the caller must then roll the transaction
	 * back
	 */
	List<Optional<Claim>> insert(List<ClaimRequest> requests);

	/**
	 * Claim keys in the current transaction like {@link #claim}, as completed records.
	 * @param requests the requests, each key at most once
	 * @param joined whether the transaction belongs to the caller of the template and
	 * must survive a failing statement
	 * @return the answers, in the order of the requests
	 * @throws OperationInProgressException if a concurrent transaction holds one of the
	 * keys for too long and the store cannot tell which; the caller must then roll back a
	 * transaction that has not been joined
	 */
	List<Claim> claimInTransaction(List<ClaimRequest> requests, boolean joined);

	/**
	 * Add results to records that the current transaction has written.
	 * @param completions the operations with their results; one without a result is left
	 * out
	 * @throws UnexpectedRollbackException if the transaction no longer has one of the
	 * records, because the handler has ended it
	 */
	void storeResults(List<Ending.Completed> completions);

	/**
	 * Check that the current transaction, in which the handler has run, can be committed.
	 * Some databases roll back a transaction in which a statement has failed when it is
	 * committed, and their drivers do not report it. The check takes a round trip only if
	 * the driver does not know the state of the transaction.
	 * @throws UnexpectedRollbackException if the transaction can only be rolled back
	 */
	default void requireCommittable() {
	}

	/**
	 * Check, at start-up, whether transactions of an isolation level can hold a record.
	 * @param isolation the level, a constant of {@link TransactionDefinition}
	 * @return the problem, as the end of a sentence that begins with "its transactions";
	 * {@code null} if there is none
	 */
	default @Nullable String isolationProblem(int isolation) {
		return null;
	}

	/**
	 * Return the marks of processed offsets.
	 * @return the marks, empty if the store keeps a record for each key only
	 */
	default Optional<OffsetMarks> offsetMarks() {
		return Optional.empty();
	}

	/**
	 * Record how operations have ended, in a separate transaction, after the transaction
	 * of the handler. The keys may be claimed again at once.
	 * <ul>
	 * <li>{@link Ending.Failed} records that the handler failed, after its transaction
	 * has been rolled back. A record that is not claimable stays as it is.</li>
	 * <li>{@link Ending.Released} undoes a completion, after a handler that did not
	 * complete has ended its transaction itself: by a commit of its connection, or by a
	 * statement with which the database commits. No attempt is counted. The effects of a
	 * version may have been committed in part, so lower versions stay excluded. Only
	 * records that the requests themselves have completed are changed. The marks of such
	 * a transaction are lowered, if their tokens have raised them last.</li>
	 * </ul>
	 * {@link Ending.Completed} is not permitted, because an operation completes in the
	 * transaction of its handler.
	 * @param endings the endings with the requests that had acquired the keys, each key
	 * at most once
	 * @param marks the marks that were raised. Each falls to the one before it
	 * @return for each ending, in their order, {@link Settlement#LOST} if a failure was
	 * not recorded because the key is completed or has another owner now, else
	 * {@link Settlement#SETTLED}
	 * @throws OperationInProgressException if a concurrent transaction holds one of the
	 * completions for too long; the others are undone nevertheless, if the store can
	 */
	List<Settlement> settleAfterTransaction(List<Ending> endings, List<OffsetMark> marks);

}
