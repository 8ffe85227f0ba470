/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Runs all comparisons and writes the report.
 */
public final class Benchmarks {

	private Benchmarks() {
	}

	/**
	 * Run the benchmarks.
	 * @param arguments {@code --quick} for a smoke run, {@code --only=TEXT} to select
	 * rows, repeatable
	 * @throws Exception if a measurement fails
	 */
	public static void main(String[] arguments) throws Exception {
		Options options = Options.parse(arguments);
		long start = System.nanoTime();
		List<Delivered> delivered = options.inProcess() ? InProcess.measure(options) : List.of();
		List<Measured> measured = new ArrayList<>();
		List<String> skipped = new ArrayList<>();
		Machine machine;
		try (Servers servers = Servers.start(Map.of(), options.latency())) {
			List<Work> works = options.select(Work.all());
			int remaining = works.size() * options.threads().size();
			for (Work work : works) {
				for (int threads : options.threads()) {
					System.out.printf("[%4d s] %s, %d thread(s), %d to go%n",
							(System.nanoTime() - start) / 1_000_000_000, work, threads, --remaining);
					new Comparison(work, threads, servers, options).run()
						.ifPresentOrElse(measured::add, () -> skipped.add(work + ": the setting has no effect"));
				}
			}
			// Some servers are started by the first row that needs them.
			machine = Machine.describe(servers);
		}
		new Report(options, machine, delivered, measured, skipped.stream().distinct().toList()).write();
		System.out.printf("Done in %d s%n", (System.nanoTime() - start) / 1_000_000_000);
		// Threads of the broker would keep the JVM running.
		System.exit(0);
	}

}
