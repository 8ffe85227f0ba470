package dev.idempotency.benchmarks;

/**
 * The cost of a delivery in the process.
 *
 * @param delivery the delivery
 * @param micros the time in microseconds
 * @param error half of the 99.9 % confidence interval of the time
 * @param bytes the allocated memory in bytes
 */
record Delivered(InProcessBenchmark.Delivery delivery, double micros, double error, double bytes) {

}
