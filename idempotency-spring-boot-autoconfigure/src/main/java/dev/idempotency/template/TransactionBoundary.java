/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.function.BooleanSupplier;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.DefaultTransactionDefinition;

import dev.idempotency.Internal;
import dev.idempotency.store.Claim;

/**
 * The transaction in which a handler runs.
 *
 * @param definition the transaction that transactional mode begins or joins
 * @param deferral in leased mode, the receiver of the completion when a transaction of
 * the caller or an acknowledgment decides whether the completion is valid. {@code null}
 * records the completion at once, or after the commit of the Spring transaction that is
 * active on the thread
 * @param rollbackOnly in transactional mode, whether the handler that has just returned
 * on this thread requests a rollback of its writes. The operation is then completed
 * without effect. Not called when the transaction belongs to the caller, because the
 * caller decides
 * @since 0.1.0
 */
@Internal
public record TransactionBoundary(TransactionDefinition definition, @Nullable Deferral deferral,
		BooleanSupplier rollbackOnly) {

	/**
	 * A transaction with default settings, if the mode needs one.
	 */
	public static final TransactionBoundary DEFAULT = of(new DefaultTransactionDefinition(), () -> false);

	/**
	 * Create a boundary for transactional mode whose handler may request a rollback.
	 * @param definition the settings of the transaction
	 * @param rollbackOnly whether the handler that has just returned requests a rollback
	 * @return the boundary
	 */
	public static TransactionBoundary of(TransactionDefinition definition, BooleanSupplier rollbackOnly) {
		return new TransactionBoundary(definition, null, rollbackOnly);
	}

	/**
	 * Create a boundary for leased mode inside a transaction of the caller, or with an
	 * acknowledgment.
	 * @param deferral receives the completions
	 * @return the boundary
	 */
	public static TransactionBoundary deferred(Deferral deferral) {
		return new TransactionBoundary(new DefaultTransactionDefinition(), deferral, () -> false);
	}

	/**
	 * Receives the completion of a handler that has returned, until the caller's
	 * transaction or an acknowledgment decides whether the completion is valid.
	 *
	 * @since 0.1.0
	 */
	@FunctionalInterface
	public interface Deferral {

		/**
		 * Whether the completion of the handler that has just returned on this thread has
		 * to wait. If not, it is recorded at once.
		 * @return whether {@link #defer} is to be called
		 */
		default boolean isNeeded() {
			return true;
		}

		/**
		 * Look up an operation whose completion is kept, which its duplicates replay.
		 * @param operation the operation
		 * @return its completion, {@code null} if none is kept
		 */
		default Claim.@Nullable Completed find(IdempotentOperation operation) {
			return null;
		}

		/**
		 * Keep a completion until its outcome is known. Must not throw.
		 * @param pending the completion
		 */
		void defer(PendingCompletion pending);

	}

}
