/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

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
