package dev.idempotency.listener;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.Consumer;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;

import dev.idempotency.template.PendingCompletion;

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

	static final KafkaTransactionCompletions LISTENER = new KafkaTransactionCompletions();

	private static final Log logger = LogFactory.getLog(KafkaTransactionCompletions.class);

	private static final ThreadLocal<State> STATE = ThreadLocal.withInitial(State::new);

	private KafkaTransactionCompletions() {
	}

	static void hold(PendingCompletion pending) {
		State state = STATE.get();
		// An idempotent method may call another one: all of them have the same outcome.
		state.pending.add(pending);
		state.committing = false;
		// Of transactions within each other the outermost is the container's.
		state.owner = state.open.peekLast();
	}

	/**
	 * A delivery begins. Forget what an earlier one on this thread has left, as when its
	 * producer was fenced.
	 */
	static void begin() {
		State state = STATE.get();
		TransactionExecution current = state.open.peekFirst();
		state.open.clear();
		if (current != null) {
			state.open.push(current);
		}
		for (PendingCompletion left : state.take()) {
			left.abandon();
			logger.warn("Nobody knows whether the Kafka transaction of " + left
					+ " was committed; the key is free when its lease has run out");
		}
	}

	/**
	 * Give back what is in doubt, unless the transaction may have been committed. Never
	 * fails: the records have to come again.
	 * @param reason why the commit failed
	 */
	static void resolve(Throwable reason) {
		STATE.get().take().forEach((pending) -> resolve(pending, reason));
	}

	private static void resolve(PendingCompletion pending, Throwable reason) {
		try {
			if (Blocked.find(TimeoutException.class, reason) == null
					&& Blocked.find(InterruptException.class, reason) == null) {
				pending.release();
				return;
			}
			logger.warn("Nobody knows whether the Kafka transaction of " + pending
					+ " was committed; the key is free when its lease has run out. Look whether the brokers are reachable",
					reason);
		}
		catch (RuntimeException ex) {
			logger.error("A key could not be given back; it is free when its lease has run out", ex);
		}
	}

	@Override
	public void afterBegin(TransactionExecution transaction, @Nullable Throwable beginFailure) {
		if (beginFailure == null) {
			STATE.get().open.push(transaction);
		}
	}

	@Override
	public void beforeCommit(TransactionExecution transaction) {
		State state = STATE.get();
		state.committing |= transaction == state.owner;
	}

	@Override
	public void afterCommit(TransactionExecution transaction, @Nullable Throwable commitFailure) {
		endAll(ended(transaction, commitFailure != null), PendingCompletion::complete);
	}

	@Override
	public void afterRollback(TransactionExecution transaction, @Nullable Throwable rollbackFailure) {
		endAll(ended(transaction, STATE.get().committing), PendingCompletion::release);
	}

	private static void endAll(List<PendingCompletion> completions, Consumer<PendingCompletion> how) {
		Error error = null;
		for (PendingCompletion completion : completions) {
			try {
				how.accept(completion);
			}
			catch (Error ex) {
				// The others have to end as well.
				error = ex;
			}
		}
		if (error != null) {
			throw error;
		}
	}

	private static List<PendingCompletion> ended(TransactionExecution transaction, boolean inDoubt) {
		State state = STATE.get();
		state.open.remove(transaction);
		if (state.pending.isEmpty() || transaction != state.owner) {
			return List.of();
		}
		if (inDoubt) {
			state.pending.forEach(PendingCompletion::abandon);
			return List.of();
		}
		return state.take();
	}

	/**
	 * What is open on one thread.
	 */
	private static final class State {

		// The latest first.
		private final Deque<TransactionExecution> open = new ArrayDeque<>();

		private List<PendingCompletion> pending = new ArrayList<>(1);

		private @Nullable TransactionExecution owner;

		private boolean committing;

		private List<PendingCompletion> take() {
			this.owner = null;
			if (this.pending.isEmpty()) {
				return List.of();
			}
			List<PendingCompletion> taken = this.pending;
			this.pending = new ArrayList<>(1);
			return taken;
		}

	}

}
