/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Runs schedules of all scenarios or of one: {@code [scenario] [seconds] [seed]}. With a
 * seed, it runs only the schedule of that seed, and prints its events.
 */
public final class Main {

	private static final Map<String, Scenario> SCENARIOS = new LinkedHashMap<>();

	static {
		SCENARIOS.put("two-owners", new TwoOwners());
		SCENARIOS.put("eviction", new Evictions());
		SCENARIOS.put("zombie", new Zombies());
		SCENARIOS.put("claim-ahead", new ClaimsAheadOfTwoConsumers());
		SCENARIOS.put("asynchronous", new AsynchronousResults());
		SCENARIOS.put("deferred", new DeferredCompletions());
		SCENARIOS.put("batches", new BatchesBesideRecords());
		SCENARIOS.put("administration", new CacheAndAdministration());
		SCENARIOS.put("circuit", new HalfOpenCircuit());
		SCENARIOS.put("close", new ClosingEngine());
	}

	// Until all classes are initialized, a seed does not repeat its schedule.
	private static final int WARM_UP = 40;

	private static final Duration HANGS = Duration.ofSeconds(20);

	private static final int SHOWN = 10;

	private static final PrintStream OUT = System.out;

	private static volatile long currentSeed;

	private static volatile long startedAt;

	private Main() {
	}

	/**
	 * Run the schedules.
	 * @param args the name of a scenario or {@code all}, the seconds for each scenario,
	 * and a seed
	 */
	public static void main(String[] args) {
		String only = (args.length > 0) ? args[0] : "all";
		long seconds = (args.length > 1) ? Long.parseLong(args[1]) : 60;
		Long seed = (args.length > 2) ? Long.valueOf(args[2]) : null;
		if (!only.equals("all") && !SCENARIOS.containsKey(only)) {
			OUT.println("There is no scenario '" + only + "'. Choose one of " + SCENARIOS.keySet() + " or 'all'");
			exit(2);
		}
		watch();
		boolean found = false;
		for (Map.Entry<String, Scenario> scenario : SCENARIOS.entrySet()) {
			if (only.equals("all") || only.equals(scenario.getKey())) {
				Schedule schedule = new Schedule(scenario.getValue(), Path.of(System.getProperty("fray.workDir")));
				for (long warm = -WARM_UP; warm < 0; warm++) {
					run(schedule, warm);
				}
				found |= (seed != null) ? repeat(schedule, seed) : explore(scenario.getKey(), schedule, seconds);
			}
		}
		exit(found ? 1 : 0);
	}

	// The agent of the scheduler drops the status of System.exit().
	private static void exit(int status) {
		OUT.flush();
		Runtime.getRuntime().halt(status);
	}

	private static Schedule.Outcome run(Schedule schedule, long seed) {
		currentSeed = seed;
		startedAt = System.nanoTime();
		return schedule.run(seed);
	}

	private static boolean explore(String name, Schedule schedule, long seconds) {
		long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
		Set<Long> distinct = new HashSet<>();
		Map<Long, List<String>> violations = new LinkedHashMap<>();
		long steps = 0;
		long seed = 0;
		while (System.nanoTime() < end) {
			Schedule.Outcome outcome = run(schedule, seed);
			distinct.add(outcome.decisions());
			steps += outcome.steps();
			if (!outcome.violations().isEmpty()) {
				violations.put(seed, outcome.violations());
			}
			seed++;
		}
		OUT.printf("%-16s %6d schedules, %6d distinct, %5d steps each, %d with violations%n", name, seed,
				distinct.size(), steps / seed, violations.size());
		violations.entrySet()
			.stream()
			.limit(SHOWN)
			.forEach((entry) -> OUT.println("    seed " + entry.getKey() + ": " + entry.getValue().get(0)));
		return !violations.isEmpty();
	}

	private static boolean repeat(Schedule schedule, long seed) {
		// What is initialized depends on the schedules before.
		for (long earlier = 0; earlier < seed; earlier++) {
			run(schedule, earlier);
		}
		Schedule.Outcome outcome = run(schedule, seed);
		OUT.print(outcome.trace());
		RecordedLog.lines().forEach((line) -> OUT.println("  log: " + line));
		OUT.printf("seed %d: %d steps, decisions %016x, violations %s%n", seed, outcome.steps(), outcome.decisions(),
				outcome.violations());
		return !outcome.violations().isEmpty();
	}

	// A schedule that does not end is a finding, too: threads that never rest.
	private static void watch() {
		startedAt = System.nanoTime();
		Thread watch = new Thread(() -> {
			while (true) {
				try {
					Thread.sleep(1000);
				}
				catch (InterruptedException ex) {
					return;
				}
				if (System.nanoTime() - startedAt > HANGS.toNanos()) {
					OUT.println("The schedule of seed " + currentSeed + " does not end");
					Thread.getAllStackTraces().forEach((thread, stack) -> {
						OUT.println(thread);
						for (StackTraceElement element : stack) {
							OUT.println("    " + element);
						}
					});
					exit(3);
				}
			}
		}, "watch");
		watch.setDaemon(true);
		watch.start();
	}

}
