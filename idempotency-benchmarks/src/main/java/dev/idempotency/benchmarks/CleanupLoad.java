/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.LongStream;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.IdempotencyStore;

/**
 * A load of threads that claim and complete new keys.
 *
 * @param store the store
 * @param threads the number of threads
 * @param rate the number of operations that each thread starts per second, 0 for no limit
 */
record CleanupLoad(IdempotencyStore store, int threads, int rate) {

	/**
	 * Run the load.
	 */
	Latencies run(ExecutorService executor, Duration time) {
		long start = System.nanoTime();
		List<CompletableFuture<long[]>> running = new ArrayList<>();
		for (int i = 0; i < this.threads; i++) {
			running.add(CompletableFuture.supplyAsync(() -> work(start, time.toNanos()), executor));
		}
		long[] all = running.stream().flatMapToLong((one) -> LongStream.of(one.join())).sorted().toArray();
		return new Latencies(all, all.length / ((System.nanoTime() - start) / 1e9));
	}

	private long[] work(long start, long nanos) {
		long[] latencies = new long[1 << 16];
		int count = 0;
		long due = System.nanoTime();
		while (due - start < nanos) {
			for (long now = System.nanoTime(); now < due; now = System.nanoTime()) {
				LockSupport.parkNanos(due - now);
			}
			operate();
			if (count == latencies.length) {
				latencies = Arrays.copyOf(latencies, count * 2);
			}
			long end = System.nanoTime();
			latencies[count++] = end - due;
			due = (this.rate > 0) ? due + 1_000_000_000L / this.rate : end;
		}
		return Arrays.copyOf(latencies, count);
	}

	private void operate() {
		ClaimRequest request = new ClaimRequest(IdempotencyKey.of("benchmark", UUID.randomUUID().toString()),
				UUID.randomUUID(), null, Duration.ofMinutes(1), Duration.ofDays(7));
		if (!(this.store.claim(List.of(request)).get(0) instanceof Claim.Acquired)) {
			throw new IllegalStateException("A new key could not be claimed");
		}
		this.store.settle(List.of(new Ending.Completed(request, null)));
	}

	/**
	 * The result of a run.
	 *
	 * @param sorted the latencies in ascending order
	 * @param rate the number of operations per second
	 */
	record Latencies(long[] sorted, double rate) {

		double millis(double share) {
			return this.sorted[(int) Math.min(this.sorted.length - 1, Math.round(this.sorted.length * share))] / 1e6;
		}

	}

}
