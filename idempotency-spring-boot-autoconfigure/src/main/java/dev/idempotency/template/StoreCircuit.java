/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.util.function.Consumer;

/**
 * A circuit breaker around the store. While it is open, no key is claimed, so that an
 * unavailable store does not cost a timeout for each record. The settlements of handlers
 * that have run are sent in any state, and their outcomes are reported too.
 *
 * @since 0.1.0
 */
public interface StoreCircuit {

	/**
	 * No circuit breaker.
	 */
	StoreCircuit ALWAYS_CLOSED = new StoreCircuit() {

		@Override
		public boolean tryAcquirePermission() {
			return true;
		}

		@Override
		public void releasePermission() {
		}

		@Override
		public void onSuccess(Duration duration) {
		}

		@Override
		public void onError(Duration duration, Throwable error) {
		}

		@Override
		public void onStateChange(Consumer<State> consumer) {
		}

	};

	/**
	 * Acquire the permission to claim a key. A caller that gets the permission must
	 * report the outcome or release the permission.
	 * @return {@code false} while the circuit is open, or half open with the allowed
	 * number of probes in progress
	 */
	boolean tryAcquirePermission();

	/**
	 * Release a permission without an outcome.
	 */
	void releasePermission();

	/**
	 * Report that the store answered. A refusal is an answer too.
	 * @param duration the duration of the call
	 */
	void onSuccess(Duration duration);

	/**
	 * Report that the store was unavailable.
	 * @param duration the duration of the call
	 * @param error the error
	 */
	void onError(Duration duration, Throwable error);

	/**
	 * Register a callback that is called with the current state at once, and with each
	 * later state.
	 * @param consumer the callback
	 */
	void onStateChange(Consumer<State> consumer);

	/**
	 * The state of a circuit breaker.
	 */
	enum State {

		/**
		 * Keys are claimed.
		 */
		CLOSED,

		/**
		 * No key is claimed.
		 */
		OPEN,

		/**
		 * A few claims are sent as probes.
		 */
		HALF_OPEN

	}

}
