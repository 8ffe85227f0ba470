package dev.idempotency.template;

import java.time.Duration;
import java.util.function.Consumer;

/**
 * A circuit breaker around the store: while it is open no key is claimed, so that a dead
 * store does not cost a time-out for each record. Settlements of handlers that have run
 * are sent in any case; their outcomes are reported too.
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
	 * Ask whether a key may be claimed. Whoever may reports the outcome, or releases the
	 * permission.
	 * @return {@code false} while the circuit is open, or half open with enough probes
	 * under way
	 */
	boolean tryAcquirePermission();

	/**
	 * Give a permission back without an outcome.
	 */
	void releasePermission();

	/**
	 * Report that the store answered, be it with a refusal.
	 * @param duration how long that took
	 */
	void onSuccess(Duration duration);

	/**
	 * Report that the store was unavailable.
	 * @param duration how long that took
	 * @param error why
	 */
	void onError(Duration duration, Throwable error);

	/**
	 * Name who is told the present state at once, and each later one.
	 * @param consumer who is told
	 */
	void onStateChange(Consumer<State> consumer);

	/**
	 * The states of a circuit.
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
		 * A few claims find out whether the store answers again.
		 */
		HALF_OPEN

	}

}
