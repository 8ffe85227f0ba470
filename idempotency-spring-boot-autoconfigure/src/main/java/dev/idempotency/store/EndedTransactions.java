/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.ResourceTransactionManager;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import dev.idempotency.Internal;

/**
 * Recognizes a transaction that has ended, while its callbacks run. It looks like an
 * active one until then: its connection is bound to the thread, and a method with
 * {@code @Transactional} joins it. The writes in it may be lost without an error.
 *
 * @param manager the manager of the transactions
 * @since 0.1.0
 */
@Internal
public record EndedTransactions(PlatformTransactionManager manager) implements TransactionExecutionListener {

	private static final Log logger = LogFactory.getLog(EndedTransactions.class);

	/**
	 * Observe the transactions of a manager.
	 * @param manager the manager
	 * @return the transactions that have ended; none if the manager has no listeners
	 */
	public static EndedTransactions of(PlatformTransactionManager manager) {
		EndedTransactions ended = new EndedTransactions(manager);
		if (!(manager instanceof ConfigurableTransactionManager observable)) {
			logger.warn("The transaction manager " + manager.getClass().getName()
					+ " cannot be observed, so writes in a "
					+ "callback after the end of a transaction are not refused, and may be lost. Declare a manager that "
					+ "is a ConfigurableTransactionManager, as those of Spring are");
		}
		else if (!observable.getTransactionExecutionListeners().contains(ended)) {
			observable.addListener(ended);
		}
		return ended;
	}

	/**
	 * Whether the transaction that is bound to this thread has ended.
	 * @return whether a write in it may be lost
	 */
	public boolean isCurrent() {
		Object current = current();
		return current != null && TransactionSynchronizationManager.hasResource(current);
	}

	/**
	 * Whether the commit of the transaction that is bound to this thread has begun. After
	 * it, Spring reports a rollback if the transaction was marked for one too late.
	 * @return whether its writes may be committed, whatever is reported
	 */
	public boolean isCommitting() {
		Object current = current();
		return current != null && TransactionSynchronizationManager.getResource(current) == Phase.COMMIT;
	}

	// A suspended transaction has another one.
	private @Nullable Object current() {
		return (this.manager instanceof ResourceTransactionManager resources)
				? TransactionSynchronizationManager.getResource(resources.getResourceFactory()) : null;
	}

	@Override
	public void beforeCommit(TransactionExecution transaction) {
		begin(transaction, Phase.COMMIT);
	}

	// Also called when a commit has failed.
	@Override
	public void beforeRollback(TransactionExecution transaction) {
		forget(transaction);
		begin(transaction, Phase.ROLLBACK);
	}

	private void begin(TransactionExecution transaction, Phase phase) {
		Object current = current();
		if (current != null && transaction.isNewTransaction()) {
			TransactionSynchronizationManager.bindResource(current, phase);
		}
	}

	@Override
	public void afterCommit(TransactionExecution transaction, @Nullable Throwable commitFailure) {
		forget(transaction);
	}

	@Override
	public void afterRollback(TransactionExecution transaction, @Nullable Throwable rollbackFailure) {
		forget(transaction);
	}

	private void forget(TransactionExecution transaction) {
		Object current = current();
		if (current != null && transaction.isNewTransaction()) {
			TransactionSynchronizationManager.unbindResourceIfPossible(current);
		}
	}

	private enum Phase {

		COMMIT, ROLLBACK

	}

}
