/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.util.Collection;
import java.util.List;

import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.springframework.util.Assert;

/**
 * Runs {@link InProcessBenchmark} with separate JVMs for each kind of delivery.
 */
final class InProcess {

	private static final String ALLOCATED = "gc.alloc.rate.norm";

	private InProcess() {
	}

	static List<Delivered> measure(Options options) throws RunnerException {
		boolean quick = options.quick();
		Collection<RunResult> results = new Runner(
				new OptionsBuilder().include(InProcessBenchmark.class.getSimpleName())
					.forks(quick ? 1 : 2)
					.warmupIterations(quick ? 1 : 4)
					.warmupTime(TimeValue.seconds(1))
					.measurementIterations(quick ? 1 : 5)
					.measurementTime(TimeValue.seconds(1))
					.addProfiler(GCProfiler.class)
					.shouldFailOnError(true)
					.build())
			.run();
		return results.stream().map(InProcess::delivered).toList();
	}

	private static Delivered delivered(RunResult result) {
		Result<?> time = result.getPrimaryResult();
		Result<?> memory = result.getSecondaryResults().get(ALLOCATED);
		Assert.state(memory != null, "The profiler has not reported allocations");
		return new Delivered(InProcessBenchmark.Delivery.valueOf(result.getParams().getParam("delivery")),
				time.getScore() / 1000, time.getScoreError() / 1000, memory.getScore());
	}

}
