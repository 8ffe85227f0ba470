package dev.idempotency.benchmarks;

/**
 * Counts the round trips to a store.
 */
interface RoundTrips {

	void start();

	long stop();

}
