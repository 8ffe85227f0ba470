/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

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
