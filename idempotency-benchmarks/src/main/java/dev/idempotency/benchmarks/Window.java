/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAccumulator;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

/**
 * The deliveries of one workload to one listener.
 */
final class Window {

	private static final int PATIENCE = 120;

	private final Workload workload;

	private final @Nullable RoundTrips roundTrips;

	private final long[] durations;

	private final AtomicInteger measured = new AtomicInteger();

	private final AtomicInteger all = new AtomicInteger();

	private final AtomicBoolean entered = new AtomicBoolean();

	private final LongAccumulator start = new LongAccumulator(Math::min, Long.MAX_VALUE);

	private final LongAccumulator end = new LongAccumulator(Math::max, Long.MIN_VALUE);

	private final CountDownLatch complete = new CountDownLatch(1);

	private volatile @Nullable Exception failure;

	/**
	 * Create a window.
	 */
	Window(Workload workload, @Nullable RoundTrips roundTrips) {
		this.workload = workload;
		this.roundTrips = roundTrips;
		this.durations = new long[workload.measured()];
	}

	void begins(ConsumerRecord<?, ?> record) {
		if (this.roundTrips != null && Workload.isMeasured(record) && this.entered.compareAndSet(false, true)) {
			this.roundTrips.start();
		}
	}

	/**
	 * Record the end of a delivery.
	 */
	void ended(ConsumerRecord<?, ?> record, long startTime, long endTime, int count) {
		if (!this.workload.contains(record)) {
			failed(new IllegalStateException("A record of another round was delivered"));
			return;
		}
		if (Workload.isMeasured(record)) {
			this.durations[this.measured.getAndIncrement()] = (endTime - startTime) / count;
			this.start.accumulate(startTime);
			this.end.accumulate(endTime);
		}
		if (this.all.incrementAndGet() == this.workload.all()) {
			this.complete.countDown();
		}
	}

	void failed(Exception exception) {
		this.failure = exception;
		this.complete.countDown();
	}

	Phase await() throws InterruptedException {
		boolean ended = this.complete.await(PATIENCE, TimeUnit.SECONDS);
		if (this.failure != null) {
			throw new IllegalStateException("The measurement has failed, because a delivery failed", this.failure);
		}
		if (!ended) {
			throw new IllegalStateException(
					"Only " + this.all + " of " + this.workload.all() + " records were delivered");
		}
		int count = this.durations.length;
		double trips = (this.roundTrips != null) ? (double) this.roundTrips.stop() / count : Double.NaN;
		Arrays.sort(this.durations);
		return new Phase(count * 1e9 / (this.end.get() - this.start.get()), micros(count / 2),
				micros((int) (count * 0.99)), trips);
	}

	private double micros(int rank) {
		return this.durations[rank] / 1000.0;
	}

}
