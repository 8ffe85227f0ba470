package dev.idempotency.template;

import java.time.Duration;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionException;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.TransactionUsageException;
import org.springframework.transaction.UnexpectedRollbackException;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OwnershipLostException;
import dev.idempotency.store.TransactionalIdempotencyStore;

/**
 * Begins and ends the transactions of transactional mode. That none can be begun means
 * that the store is down.
 */
final class Transactions {

	// How long no transaction without a record is tried after one could not be begun.
	// Each try may cost the time-out of the connection pool.
	private static final Duration PAUSE = Duration.ofSeconds(5);

	private final StoreCalls calls;

	private final TransactionalIdempotencyStore store;

	private final PlatformTransactionManager manager;

	private volatile @Nullable Long failedAt;

	Transactions(StoreCalls calls, TransactionalIdempotencyStore store, PlatformTransactionManager manager) {
		this.calls = calls;
		this.store = store;
		this.manager = manager;
	}

	/**
	 * Begin or join a transaction; the circuit breaker has let it pass.
	 * @param subject what it is for
	 * @param definition the transaction
	 * @return the transaction
	 */
	TransactionStatus begin(Object subject, TransactionDefinition definition) {
		long start = System.nanoTime();
		try {
			return this.manager.getTransaction(definition);
		}
		catch (TransactionException ex) {
			if (ex instanceof TransactionUsageException) {
				this.calls.release();
				throw ex;
			}
			IdempotencyStoreUnavailableException unavailable = notBegun(subject, ex);
			this.calls.failed(unavailable, Duration.ofNanos(System.nanoTime() - start));
			throw unavailable;
		}
		catch (RuntimeException | Error ex) {
			this.calls.release();
			throw ex;
		}
	}

	/**
	 * Run a handler in a transaction that has no record in it.
	 * @param subject what it is for
	 * @param boundary the transaction
	 * @param handler the handler
	 * @param <T> the type of the result
	 * @param <E> what the handler throws
	 * @return the result of the handler
	 * @throws E when the handler throws it
	 * @throws IdempotencyStoreUnavailableException if no transaction can be begun; the
	 * handler has not run then
	 */
	<T, E extends Throwable> @Nullable T runUnprotected(Object subject, TransactionBoundary boundary,
			OperationHandler<T, E> handler) throws E {
		TransactionStatus transaction = beginUnprotected(subject, boundary.definition());
		try {
			T result = handler.handle();
			if (isRollbackOnly(transaction, boundary)) {
				rollback(transaction, null);
			}
			else {
				commit(transaction);
			}
			return result;
		}
		catch (Throwable ex) {
			rollback(transaction, ex);
			throw ex;
		}
	}

	/**
	 * Begin or join a transaction that has no record in it. The circuit breaker is not
	 * asked: the store may be unavailable although its database is not.
	 * @param subject what it is for
	 * @param definition the transaction
	 * @return the transaction
	 * @throws IdempotencyStoreUnavailableException if none can be begun
	 */
	TransactionStatus beginUnprotected(Object subject, TransactionDefinition definition) {
		Long failed = this.failedAt;
		if (failed != null && System.nanoTime() - failed < PAUSE.toNanos()) {
			throw notBegun(subject, null);
		}
		try {
			TransactionStatus transaction = this.manager.getTransaction(definition);
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

	private static IdempotencyStoreUnavailableException notBegun(Object subject, @Nullable Throwable cause) {
		return new IdempotencyStoreUnavailableException(
				"No transaction could be begun for " + subject
						+ "; the record is redelivered when the database is available",
				(cause != null) ? StoreErrors.code(cause) : null, cause);
	}

	/**
	 * Commit what the handler has done, or leave it to the transaction that was joined.
	 * @param transaction the transaction
	 * @throws UnexpectedRollbackException if a statement of the handler has failed, so
	 * that nothing would be committed
	 */
	void commit(TransactionStatus transaction) {
		this.store.requireCommittable();
		this.manager.commit(transaction);
	}

	/**
	 * Whether the handler that has just returned wants a transaction of its own to be
	 * rolled back.
	 * @param transaction its transaction
	 * @param boundary knows what the handler wants
	 * @return whether to roll back
	 */
	static boolean isRollbackOnly(TransactionStatus transaction, TransactionBoundary boundary) {
		return transaction.isNewTransaction() && boundary.rollbackOnly().getAsBoolean();
	}

	/**
	 * Commit what completes operations whose effect has been rolled back on purpose.
	 * @param transaction the transaction
	 * @param subject the operations
	 * @throws IdempotencyStoreUnavailableException if it fails; the next delivery shows
	 * whether the operations are completed
	 */
	void commitWithoutEffect(TransactionStatus transaction, Object subject) {
		try {
			this.manager.commit(transaction);
		}
		catch (RuntimeException ex) {
			rollback(transaction, ex);
			throw new IdempotencyStoreUnavailableException(
					"The handler returned and had its writes rolled back, but its completion could not be committed: "
							+ subject + "; the record is redelivered when the database is available",
					ex);
		}
	}

	/**
	 * Whether a transaction may have been committed although it failed: its commit was
	 * sent, and the answer is an error.
	 * @param transaction the transaction, before its rollback
	 * @param error why it failed
	 * @return whether nobody knows
	 */
	static boolean isInDoubt(TransactionStatus transaction, Throwable error) {
		return transaction.isCompleted() && !(error instanceof UnexpectedRollbackException);
	}

	static OwnershipLostException lost(boolean inDoubt, Object subject, @Nullable Throwable error) {
		return new OwnershipLostException((inDoubt
				? "Nobody knows whether this execution was committed: the answer to its commit was an error, and the key is "
						+ "completed, or in progress elsewhere: "
				: "This execution was rolled back, but the key is completed or in progress elsewhere: ") + subject
				+ "; the next delivery finds out", error);
	}

	void rollback(TransactionStatus transaction, @Nullable Throwable reason) {
		if (transaction.isCompleted()) {
			return;
		}
		try {
			this.manager.rollback(transaction);
		}
		catch (RuntimeException ex) {
			// The connection is gone, and with it the transaction.
			if (reason != null) {
				reason.addSuppressed(ex);
			}
		}
	}

}
