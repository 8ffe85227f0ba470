package dev.idempotency.benchmarks;

/**
 * What a delivery costs in the process.
 *
 * @param delivery the delivery
 * @param micros time in microseconds
 * @param error half of the 99.9 % confidence interval of the time
 * @param bytes allocated memory in bytes
 */
record Delivered(InProcessBenchmark.Delivery delivery, double micros, double error, double bytes) {

}
