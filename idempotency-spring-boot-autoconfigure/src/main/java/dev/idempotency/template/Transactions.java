/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionException;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.TransactionSystemException;
import org.springframework.transaction.TransactionUsageException;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.AbstractTransactionStatus;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.Assert;

import dev.idempotency.ExceptionCauses;
import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationLostException;
import dev.idempotency.store.EndedTransactions;
import dev.idempotency.store.TransactionalIdempotencyStore;

/**
 * Begins and ends the transactions of transactional mode. The store is unavailable when
 * no transaction can begin.
 */
final class Transactions {

	// The time after a failure in which no transaction without a record begins. Each
	// attempt may take as long as the timeout of the connection pool.
	private static final Duration PAUSE = Duration.ofSeconds(5);

	private static final Log logger = LogFactory.getLog(Transactions.class);

	private final Engine engine;

	private final StoreCalls calls;

	private final TransactionalIdempotencyStore store;

	private final PlatformTransactionManager manager;

	// Settles after the transaction of the caller.
	private final AsyncSettlements asynchronous;

	private final EndedTransactions ended;

	private volatile @Nullable Long failedAt;

	Transactions(Engine engine, TransactionalIdempotencyStore store, PlatformTransactionManager manager,
			AsyncSettlements asynchronous) {
		if (manager instanceof AbstractPlatformTransactionManager spring
				&& spring.getTransactionSynchronization() == AbstractPlatformTransactionManager.SYNCHRONIZATION_NEVER) {
			throw new IdempotencyConfigurationException("The transaction manager of the idempotency store '"
					+ store.name() + "' has no transaction synchronization, by which the library observes the end of a "
					+ "transaction.", "Remove its setting SYNCHRONIZATION_NEVER.");
		}
		this.engine = engine;
		this.calls = engine.calls();
		this.store = store;
		this.manager = manager;
		this.asynchronous = asynchronous;
		this.ended = EndedTransactions.of(manager);
	}

	// Begin or join the first transaction of a delivery, with a permission of the circuit
	// breaker. A call of the store must follow.
	TransactionStatus beginFirst(Object subject, TransactionDefinition definition) {
		this.calls.permit(subject);
		try {
			return begin(subject, definition);
		}
		catch (IdempotencyStoreUnavailableException ex) {
			throw ex;
		}
		catch (Throwable ex) {
			this.calls.circuit().releasePermission();
			throw ex;
		}
	}

	TransactionStatus begin(Object subject, TransactionDefinition definition) {
		requireNotEnded(subject, definition);
		long start = System.nanoTime();
		try {
			return marked(this.manager.getTransaction(definition));
		}
		catch (TransactionUsageException ex) {
			throw ex;
		}
		catch (TransactionException ex) {
			IdempotencyStoreUnavailableException unavailable = notBegun(subject, ex);
			this.calls.failed(unavailable, Duration.ofNanos(System.nanoTime() - start));
			throw unavailable;
		}
	}

	// Begin or join a transaction without a record. The state of the circuit breaker
	// is ignored: the store may be unavailable although its database is available.
	TransactionStatus beginUnprotected(Object subject, TransactionDefinition definition) {
		requireNotEnded(subject, definition);
		Long failed = this.failedAt;
		if (failed != null && System.nanoTime() - failed < PAUSE.toNanos()) {
			throw notBegun(subject, null);
		}
		try {
			TransactionStatus transaction = marked(this.manager.getTransaction(definition));
			this.failedAt = null;
			return transaction;
		}
		catch (TransactionUsageException ex) {
			throw ex;
		}
		catch (TransactionException ex) {
			this.failedAt = System.nanoTime();
			throw notBegun(subject, ex);
		}
	}

	// An exception of the handler must not leave a part of its effect to the caller.
	private TransactionStatus marked(TransactionStatus transaction) {
		if (!transaction.isNewTransaction() && this.manager instanceof AbstractPlatformTransactionManager spring
				&& !spring.isGlobalRollbackOnParticipationFailure()) {
			throw new IdempotencyConfigurationException(
					"The transaction manager of the idempotency store '" + this.store.name()
							+ "' does not mark a joined transaction for rollback, so a caller could commit a part "
							+ "of the effect of a failed handler.",
					"Set its property globalRollbackOnParticipationFailure to true, or execute the operation outside of "
							+ "the transaction.");
		}
		return transaction;
	}

	private void requireNotEnded(Object subject, TransactionDefinition definition) {
		Assert.state(
				definition.getPropagationBehavior() == TransactionDefinition.PROPAGATION_REQUIRES_NEW
						|| !this.ended.isCurrent(),
				() -> "The transaction of this thread has already ended, so the writes of " + subject
						+ " would be lost. Execute it before the commit, or in a new transaction (REQUIRES_NEW)");
	}

	private static IdempotencyStoreUnavailableException notBegun(Object subject, @Nullable Throwable cause) {
		return new IdempotencyStoreUnavailableException(
				"No transaction could begin for " + subject
						+ ". The record is redelivered until the database is available",
				(cause != null) ? StoreErrors.code(cause) : null, cause);
	}

	// Commit the writes of the handler, or leave them to the transaction that
	// was joined.
	void commit(TransactionStatus transaction) {
		this.store.requireCommittable();
		if (transaction.isNewTransaction() && transaction.isRollbackOnly()) {
			throw new UnexpectedRollbackException(
					"The handler has returned, but an exception has marked its transaction "
							+ "for rollback, because it left a @Transactional method that the handler calls, so nothing can be "
							+ "committed. Do not catch it in the handler. If the operation is to end, catch it inside of that "
							+ "method or name it in 'noRollbackFor', or throw OperationDeclinedException. If a part is to be "
							+ "undone alone, give that method the propagation NESTED, which JPA does not support");
		}
		if (transaction.isNewTransaction() && TransactionSynchronizationManager.isSynchronizationActive()) {
			TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

				@Override
				public void afterCompletion(int status) {
					if (status == STATUS_ROLLED_BACK) {
						transaction.setRollbackOnly();
					}
				}

			});
		}
		this.manager.commit(transaction);
	}

	// Store results before the commit. If the database is unavailable and not only this
	// session has ended, the failure that follows cannot be noted.
	void commit(TransactionStatus transaction, Object subject, Runnable results) {
		try {
			results.run();
			commit(transaction);
		}
		catch (IdempotencyStoreUnavailableException ex) {
			// A blocked cause would make the failure a blocked record.
			Throwable cause = ExceptionCauses.find(ex, (one) -> !(one instanceof OperationBlockedException));
			if (cause == null || !transaction.isNewTransaction()) {
				throw ex;
			}
			throw new TransactionSystemException("The transaction of " + subject + " has ended before its commit. The "
					+ "database may end sessions that are idle or run for too long", cause);
		}
	}

	// Record the completion of operations whose writes were rolled back on purpose, in a
	// transaction of its own.
	void completeWithoutEffect(Object subject, TransactionDefinition definition, Runnable recording) {
		TransactionStatus transaction = begin(subject, definition);
		orRollback(transaction, () -> {
			recording.run();
			return transaction;
		});
		try {
			this.manager.commit(transaction);
		}
		catch (RuntimeException ex) {
			rollback(transaction, ex);
			throw new IdempotencyStoreUnavailableException(
					"The writes of the handler were rolled back on purpose, but its completion could not be committed: "
							+ subject + ". The record is redelivered until the database is available",
					ex);
		}
	}

	<T extends @Nullable Object> T orRollback(TransactionStatus transaction, Supplier<T> action) {
		try {
			return action.get();
		}
		catch (Throwable ex) {
			rollbackOwn(transaction, ex);
			throw ex;
		}
	}

	// A transaction of the caller is left to the caller, unless it may contain a claim
	// whose handler does not run. A savepoint undoes a claim that fails as the store
	// describes, or in an outage. Any other exception may follow a claim that succeeds.
	void rollbackOwn(TransactionStatus transaction, @Nullable Throwable cause) {
		if (transaction.isNewTransaction() || isUncertain(cause)) {
			rollback(transaction, cause);
		}
	}

	// Whether the transaction may contain the claim that has failed.
	static boolean isUncertain(@Nullable Throwable failure) {
		Throwable thrown = (failure instanceof OperationBlockedException) ? failure.getCause() : failure;
		return thrown != null && !(thrown instanceof OperationBlockedException) && !(thrown instanceof SQLException)
				&& !StoreErrors.isOutage(thrown);
	}

	// Whether a failed transaction may have been committed: its commit was answered with
	// an error, or a callback after it has failed. Spring rolls it back after a failure
	// of a callback before the commit, and of a constraint at the commit. After an outage
	// during the commit, such a rollback proves nothing. Spring also reports a rollback
	// after a commit if a callback before it has marked the transaction, or has thrown
	// an UnexpectedRollbackException.
	static boolean isInDoubt(TransactionStatus transaction, Throwable error) {
		return transaction.isCompleted() && (StoreErrors.isOutage(error) || error instanceof UnexpectedRollbackException
				|| !(transaction instanceof AbstractTransactionStatus status && status.isLocalRollbackOnly()));
	}

	static OperationLostException lost(boolean inDoubt, Object subject, @Nullable Throwable error) {
		return new OperationLostException(
				(inDoubt ? "The outcome of the commit is unknown, and the key is completed or has another owner: "
						: "The execution was rolled back, but the key is completed or has another owner: ") + subject
						+ ". The record is redelivered, and the redelivery shows the outcome",
				error);
	}

	void rollback(TransactionStatus transaction, @Nullable Throwable reason) {
		if (transaction.isCompleted()) {
			return;
		}
		try {
			this.manager.rollback(transaction);
		}
		catch (RuntimeException ex) {
			// The connection is lost, and the database rolls the transaction back.
			if (reason != null) {
				reason.addSuppressed(ex);
			}
		}
	}

	// Note the failure of an operation or, if only the caller failed, undo a completion
	// that the handler has committed itself. The transaction of the caller still holds
	// its connection and its lock on the record, also in afterCompletion. This thread
	// would wait for a second connection, and with a pool of one connection forever. The
	// argument of the settlement is whether the outcome of the commit is unknown.
	void settleAfterRollback(IdempotentOperation operation, boolean failed, Consumer<Boolean> settlement) {
		if (!TransactionSynchronizationManager.isSynchronizationActive()) {
			return;
		}
		TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

			private boolean inDoubt;

			// A callback before this one could fail, and Spring commit nevertheless.
			@Override
			public int getOrder() {
				return HIGHEST_PRECEDENCE;
			}

			@Override
			public void beforeCommit(boolean readOnly) {
				this.inDoubt = true;
			}

			@Override
			public void afterCompletion(int status) {
				if (status == STATUS_ROLLED_BACK) {
					// Spring does not call beforeCommit if this was registered by such a
					// callback. A failed operation is repeated even if its caller has
					// ignored the failure.
					this.inDoubt |= !failed && Transactions.this.ended.isCommitting();
					// The next execution looks there before it waits for the settlement.
					Transactions.this.engine.cache().removeAll(List.of(operation.key()));
					Transactions.this.asynchronous.settle(List.of(operation), false,
							() -> settleEarlier(operation, failed, settlement, this.inDoubt));
				}
			}

		});
	}

	// It is dropped if the store is unavailable, or if it arrives after the next
	// execution.
	private void settleEarlier(IdempotentOperation operation, boolean failed, Consumer<Boolean> settlement,
			boolean inDoubt) {
		try {
			if ((failed || !inDoubt) && this.calls.circuit().tryAcquirePermission()) {
				settlement.accept(inDoubt);
			}
		}
		catch (OperationBlockedException ex) {
			logger.debug("A failure was not recorded: " + operation, ex);
		}
	}

}
