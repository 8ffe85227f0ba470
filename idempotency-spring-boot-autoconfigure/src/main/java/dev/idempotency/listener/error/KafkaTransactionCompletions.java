/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.error;

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

import dev.idempotency.ExceptionCauses;
import dev.idempotency.listener.consumer.ConsumerLocal;
import dev.idempotency.template.PendingCompletion;

/**
 * Holds the pending completions of the current thread until the Kafka transaction of the
 * container ends. A Kafka transaction has no synchronizations, but its manager calls its
 * execution listeners on the thread of the container, before a record is redelivered.
 * <p>
 * After a failed commit, the manager performs a rollback that has no effect, so the
 * outcome of the transaction is unknown. The lease is then no longer renewed. The
 * after-rollback processor receives the reason and may release the key.
 */
public final class KafkaTransactionCompletions implements TransactionExecutionListener {

	static final KafkaTransactionCompletions LISTENER = new KafkaTransactionCompletions();

	private static final Log logger = LogFactory.getLog(KafkaTransactionCompletions.class);

	private static final ConsumerLocal<State> STATE = new ConsumerLocal<>(State::new);

	private KafkaTransactionCompletions() {
	}

	public static void hold(PendingCompletion pending) {
		State state = STATE.get();
		// An idempotent method may call another one. All of them share one outcome.
		state.pending.add(pending);
		state.committing = false;
		// Of nested transactions, the outermost is that of the container.
		state.owner = state.open.peekLast();
	}

	// Prepare the current thread for a delivery. Abandons completions that an
	// earlier delivery has left behind, for example because its producer was fenced.
	static void begin() {
		State state = STATE.get();
		while (state.open.size() > 1) {
			state.open.removeLast();
		}
		for (PendingCompletion left : state.take()) {
			left.abandon();
			logger.warn(unknownOutcome(left));
		}
	}

	// Release the completions whose commit failed, unless the transaction may have
	// been committed. Never throws, because the records must be redelivered.
	static void resolve(Throwable reason) {
		STATE.get().take().forEach((pending) -> resolve(pending, reason));
	}

	private static void resolve(PendingCompletion pending, Throwable reason) {
		try {
			if (ExceptionCauses.find(TimeoutException.class, reason) == null
					&& ExceptionCauses.find(InterruptException.class, reason) == null) {
				pending.release();
				return;
			}
			logger.warn(unknownOutcome(pending) + ". Check whether the brokers are reachable", reason);
		}
		catch (RuntimeException ex) {
			logger.error("The key of " + pending + " could not be released; it can be claimed when its lease expires",
					ex);
		}
	}

	private static String unknownOutcome(PendingCompletion pending) {
		return "It is unknown whether the Kafka transaction of " + pending
				+ " was committed; its key can be claimed when its lease expires";
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
		end(transaction, commitFailure != null, commitFailure == null, PendingCompletion::complete);
	}

	@Override
	public void afterRollback(TransactionExecution transaction, @Nullable Throwable rollbackFailure) {
		end(transaction, STATE.get().committing, false, PendingCompletion::release);
	}

	private static void end(TransactionExecution transaction, boolean inDoubt, boolean committed,
			Consumer<PendingCompletion> how) {
		State state = STATE.get();
		state.open.remove(transaction);
		if (transaction == state.owner) {
			if (inDoubt) {
				state.pending.forEach(PendingCompletion::abandon);
			}
			else {
				settleAll(state.take(), how);
			}
		}
		// The outermost transaction is that of the container.
		if (state.open.isEmpty()) {
			ConsumerState.current().poll.transactionEnded(committed);
		}
	}

	private static void settleAll(List<PendingCompletion> completions, Consumer<PendingCompletion> how) {
		Error error = null;
		for (PendingCompletion completion : completions) {
			try {
				how.accept(completion);
			}
			catch (Error ex) {
				// The other completions must be settled as well.
				error = ex;
			}
		}
		if (error != null) {
			throw error;
		}
	}

	private static final class State {

		// Latest first.
		private final Deque<TransactionExecution> open = new ArrayDeque<>();

		private final List<PendingCompletion> pending = new ArrayList<>(1);

		private @Nullable TransactionExecution owner;

		private boolean committing;

		private List<PendingCompletion> take() {
			List<PendingCompletion> taken = List.copyOf(this.pending);
			this.pending.clear();
			this.owner = null;
			return taken;
		}

	}

}
