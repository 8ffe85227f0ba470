package dev.idempotency;

import java.time.Duration;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionException;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.TransactionUsageException;
import org.springframework.transaction.UnexpectedRollbackException;

/**
 * Begins and ends the transactions of transactional mode. That none can be begun means
 * that the store is down.
 */
final class Transactions {

	private final StoreCalls calls;

	private final PlatformTransactionManager manager;

	Transactions(StoreCalls calls, PlatformTransactionManager manager) {
		this.calls = calls;
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
			this.calls.failed(ex, Duration.ofNanos(System.nanoTime() - start));
			throw new IdempotencyStoreUnavailableException("No transaction could be begun for " + subject
					+ "; the record will be delivered again when the database answers", ex);
		}
		catch (RuntimeException | Error ex) {
			this.calls.release();
			throw ex;
		}
	}

	void commit(TransactionStatus transaction) {
		this.manager.commit(transaction);
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

	static OwnershipLostException lost(boolean inDoubt, Object subject, Throwable error) {
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
