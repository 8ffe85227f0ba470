/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;

import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationBlockedException;

/**
 * Is notified of the calls of stores and of the cleanup. A callback runs on the thread of
 * the event and should return quickly. Its exceptions are logged and dropped. Every bean
 * of this type is notified.
 *
 * @since 0.1.0
 */
public interface StoreObserver {

	/**
	 * Called when a call of the store has returned.
	 * @param store the name of the store
	 * @param call the call
	 * @param outcome the outcome of the call
	 * @param duration the duration of the call
	 */
	default void storeCalled(String store, StoreCall call, StoreOutcome outcome, Duration duration) {
	}

	/**
	 * Called when the store has refused a call or was unavailable, before
	 * {@link #storeCalled}.
	 * @param store the name of the store
	 * @param error an {@link IdempotencyStoreRefusedException} or an
	 * {@link IdempotencyStoreUnavailableException}, whose causes may quote values
	 */
	default void storeFailed(String store, OperationBlockedException error) {
	}

	/**
	 * Called when the circuit breaker of a store has a new state, and with its initial
	 * state.
	 * @param store the name of the store
	 * @param state the new state
	 */
	default void circuitChanged(String store, StoreCircuit.State state) {
	}

	/**
	 * Called when the cleanup has deleted expired records.
	 * @param table the name of the table
	 * @param deleted the number of records
	 */
	default void cleanedUp(String table, int deleted) {
	}

	/**
	 * Called when a run of the cleanup has ended, even if it has deleted nothing.
	 * @param table the name of the table
	 * @param duration the duration of the run
	 * @param backlogAge the time since the oldest remaining record expired, zero if there
	 * is none
	 */
	default void cleanupEnded(String table, Duration duration, Duration backlogAge) {
	}

	/**
	 * Called when the eviction policies of the servers of a store have been checked.
	 * @param store the name of the store
	 * @param possible whether at least one server may evict records before their
	 * retention ends
	 */
	default void evictionChecked(String store, boolean possible) {
	}

	/**
	 * A call of the store.
	 */
	enum StoreCall {

		/**
		 * A key is claimed, or inserted into a transaction.
		 */
		CLAIM,

		/**
		 * A completion is recorded.
		 */
		COMPLETE,

		/**
		 * A failure is recorded.
		 */
		FAIL,

		/**
		 * A claim whose outcome is unknown is released.
		 */
		RELEASE,

		/**
		 * The leases of running handlers are renewed.
		 */
		RENEW

	}

	/**
	 * The outcome of a call of the store.
	 */
	enum StoreOutcome {

		/**
		 * The store answered.
		 */
		OK,

		/**
		 * The store refused the call.
		 */
		REFUSED,

		/**
		 * The store was unavailable.
		 */
		UNAVAILABLE

	}

}
