package dev.idempotency.benchmarks;

/**
 * The figures of one listener in one round.
 *
 * @param rate the number of records per second, from the start of the first measured
 * delivery to the end of the last
 * @param p50 the median latency of the deliveries in microseconds
 * @param p99 the 99th percentile of the latencies in microseconds
 * @param roundTrips the number of round trips to the store per record, {@code NaN} if
 * they were not counted
 */
record Phase(double rate, double p50, double p99, double roundTrips) {

}
