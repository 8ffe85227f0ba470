/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

import java.util.List;

import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;

/**
 * The execution of a protected handler: its key, its fencing token, and keys for the
 * messages that it sends.
 *
 * @since 0.1.0
 */
public interface IdempotentExecution {

	/**
	 * Return the execution of the handler that runs on this thread. An asynchronous
	 * handler must call this method before it leaves the thread.
	 * @return the execution
	 * @throws IllegalStateException if no protected handler, or a batch handler, runs on
	 * this thread
	 */
	static IdempotentExecution current() {
		Assert.state(Holder.CURRENT.get() != null, "No idempotent execution runs on this thread");
		IdempotentExecution only = ifCurrent();
		Assert.state(only != null, "A batch runs on this thread. Call currentBatch()");
		return only;
	}

	/**
	 * Return the execution of the handler that runs on this thread, if that handler is
	 * protected.
	 * @return the execution; {@code null} if no protected handler, or a batch handler,
	 * runs on this thread
	 */
	static @Nullable IdempotentExecution ifCurrent() {
		List<@Nullable IdempotentExecution> current = Holder.current();
		return (current.size() == 1) ? current.get(0) : null;
	}

	/**
	 * Return the executions of the batch that the handler on this thread processes.
	 * @return one execution for each record, in the order in which the handler receives
	 * them; {@code null} for a record that is processed without protection
	 * @throws IllegalStateException if no protected handler runs on this thread
	 */
	static List<@Nullable IdempotentExecution> currentBatch() {
		List<@Nullable IdempotentExecution> current = Holder.CURRENT.get();
		Assert.state(current != null, "No idempotent execution runs on this thread");
		return current;
	}

	/**
	 * Return the idempotency key, to be passed to the systems that the handler calls.
	 * @return the key without its scope
	 */
	String key();

	/**
	 * Create the idempotency key of the next message that the handler sends: a hash of
	 * scope and key, followed by the number of keys that this execution has returned
	 * before. Another execution of the same operation, for example after a failure,
	 * returns the same keys in the same order, so that the receivers recognize
	 * duplicates. An execution in another scope returns other keys.
	 * <p>
	 * The handler must send the same messages in the same order each time. Otherwise a
	 * message may get the key of another message and be skipped as its duplicate. Give
	 * such messages their own keys.
	 * @return the key, much shorter than {@link IdempotencyKey#MAX_LENGTH}
	 */
	String nextKey();

	/**
	 * Create the idempotency key of the next message that is sent if the current
	 * transaction commits: the {@link #nextKey() next key}, followed by a hash of topic
	 * and type. The hash prevents an event of another type from being skipped as a
	 * duplicate of this one. If the transaction rolls back, the message was not sent, and
	 * the next message gets the same number. A handler that retries its transaction
	 * therefore gives its messages the same keys as without the failure. The same applies
	 * when the outcome of the commit is unknown.
	 * @param topic the topic of the message
	 * @param type the type of the event
	 * @return the key, much shorter than {@link IdempotencyKey#MAX_LENGTH}
	 */
	String nextTransactionalKey(String topic, String type);

	/**
	 * Return the scope of the key.
	 * @return the scope
	 */
	String scope();

	/**
	 * Return the number of starts of the operation, including this one.
	 * @return the number, 1 for the first attempt and for each record that is recognized
	 * by its offset
	 */
	int attempt();

	/**
	 * Return the fencing token. It grows with every claim of the key for as long as the
	 * store remembers the key. A system that the handler calls can use it to reject
	 * writes of an older claim.
	 * @return the fencing token
	 */
	int fence();

	/**
	 * Return whether another owner is known to have taken over the key. {@code false} is
	 * no guarantee, because an expired lease is detected with the next call of the store.
	 * @return whether ownership is known to be lost
	 */
	boolean ownershipLost();

	/**
	 * Binds executions to the thread on which their handler runs. The template calls it
	 * around each handler. An application needs it only to test a handler that calls
	 * {@link IdempotentExecution#current()}, or to bind an execution to another thread.
	 *
	 * @since 0.1.0
	 */
	final class Holder {

		private static final ThreadLocal<@Nullable List<@Nullable IdempotentExecution>> CURRENT = new ThreadLocal<>();

		private Holder() {
		}

		/**
		 * Return the executions that are bound to this thread.
		 * @return the executions, empty if there are none
		 */
		public static List<@Nullable IdempotentExecution> current() {
			List<@Nullable IdempotentExecution> current = CURRENT.get();
			return (current != null) ? current : List.of();
		}

		/**
		 * Bind executions to this thread.
		 * @param executions one execution, or one for each record of a batch with
		 * {@code null} for a record that is processed without protection; {@code null} to
		 * bind none
		 * @return the executions that were bound before, which the caller must bind again
		 * afterwards
		 */
		public static @Nullable List<@Nullable IdempotentExecution> bind(
				@Nullable List<@Nullable IdempotentExecution> executions) {
			List<@Nullable IdempotentExecution> previous = CURRENT.get();
			// Removing the value would allocate a new map entry for each record.
			CURRENT.set(executions);
			return previous;
		}

	}

}
