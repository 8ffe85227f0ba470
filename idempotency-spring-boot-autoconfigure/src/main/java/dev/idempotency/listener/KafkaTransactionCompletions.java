package dev.idempotency.listener;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;

import dev.idempotency.PendingCompletion;

/**
 * Holds what the handler on this thread has done until the Kafka transaction of its
 * container has ended. A Kafka transaction has no synchronizations, but its manager calls
 * its listeners, on the thread of the container and before anything is delivered again.
 * <p>
 * A commit that fails is followed by a rollback that does nothing, so what became of the
 * transaction is in doubt: the lease is renewed no more, and the after-rollback
 * processor, which gets to know the reason, may give the key back.
 */
final class KafkaTransactionCompletions implements TransactionExecutionListener {

	private static final Log logger = LogFactory.getLog(KafkaTransactionCompletions.class);

	private static final ThreadLocal<@Nullable PendingCompletion> PENDING = new ThreadLocal<>();

	private static final ThreadLocal<@Nullable Boolean> COMMITTING = new ThreadLocal<>();

	static final KafkaTransactionCompletions LISTENER = new KafkaTransactionCompletions();

	static void hold(PendingCompletion pending) {
		PENDING.set(pending);
		COMMITTING.remove();
	}

	/**
	 * Forget what an earlier delivery on this thread has left, as when its producer was
	 * fenced.
	 */
	static void forget() {
		PendingCompletion pending = PENDING.get();
		if (pending != null) {
			PENDING.remove();
			pending.abandon();
			logger.warn("Nobody knows whether the Kafka transaction of " + pending
					+ " was committed; the key is free when its lease has run out");
		}
	}

	/**
	 * Give back what is in doubt, unless the transaction may have been committed.
	 * @param reason why the commit failed
	 */
	static void resolve(Throwable reason) {
		PendingCompletion pending = PENDING.get();
		if (pending == null) {
			return;
		}
		PENDING.remove();
		if (isUnknown(reason)) {
			logger.warn("Nobody knows whether the Kafka transaction of " + pending
					+ " was committed; the key is free when its lease has run out. Look whether the brokers are reachable",
					reason);
		}
		else {
			pending.release();
		}
	}

	private static boolean isUnknown(Throwable reason) {
		Throwable cause = reason;
		for (int depth = 0; cause != null && depth < Blocked.MAX_DEPTH; depth++, cause = cause.getCause()) {
			if (cause instanceof TimeoutException || cause instanceof InterruptException) {
				return true;
			}
		}
		return false;
	}

	private KafkaTransactionCompletions() {
	}

	@Override
	public void beforeCommit(TransactionExecution transaction) {
		COMMITTING.set(true);
	}

	@Override
	public void afterCommit(TransactionExecution transaction, @Nullable Throwable commitFailure) {
		PendingCompletion pending = PENDING.get();
		if (pending == null) {
			return;
		}
		if (commitFailure != null) {
			pending.abandon();
			return;
		}
		PENDING.remove();
		pending.complete();
	}

	@Override
	public void afterRollback(TransactionExecution transaction, @Nullable Throwable rollbackFailure) {
		PendingCompletion pending = PENDING.get();
		if (pending == null) {
			return;
		}
		if (COMMITTING.get() != null) {
			pending.abandon();
			return;
		}
		PENDING.remove();
		pending.release();
	}

}
