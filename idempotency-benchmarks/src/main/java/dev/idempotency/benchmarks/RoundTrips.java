package dev.idempotency.benchmarks;

/**
 * Counts how often a store is asked.
 */
interface RoundTrips {

	void start();

	long stop();

}
