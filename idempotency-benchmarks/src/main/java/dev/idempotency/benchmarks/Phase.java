package dev.idempotency.benchmarks;

/**
 * What one listener did in one round.
 *
 * @param rate records per second, from the first measured delivery to the end of the last
 * @param p50 the median of the deliveries, in microseconds
 * @param p99 the 99th percentile of the deliveries, in microseconds
 * @param roundTrips to the store, per record; not a number if they were not counted
 */
record Phase(double rate, double p50, double p99, double roundTrips) {

}
