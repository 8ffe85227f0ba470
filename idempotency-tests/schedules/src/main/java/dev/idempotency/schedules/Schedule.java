/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;

import kotlin.Unit;
import org.pastalab.fray.core.RunContext;
import org.pastalab.fray.core.command.Configuration;
import org.pastalab.fray.core.command.ExecutionInfo;
import org.pastalab.fray.core.command.LambdaExecutor;
import org.pastalab.fray.core.command.NetworkDelegateType;
import org.pastalab.fray.core.command.SystemTimeDelegateType;
import org.pastalab.fray.core.delegates.DelegateSynchronizer;
import org.pastalab.fray.core.delegates.RuntimeDelegate;
import org.pastalab.fray.core.randomness.ControlledRandom;
import org.pastalab.fray.core.randomness.ControlledRandomProvider;
import org.pastalab.fray.core.randomness.Randomness;
import org.pastalab.fray.core.scheduler.PCTScheduler;
import org.pastalab.fray.core.scheduler.POSScheduler;
import org.pastalab.fray.core.scheduler.RandomScheduler;
import org.pastalab.fray.core.scheduler.Scheduler;
import org.pastalab.fray.runtime.NetworkDelegate;
import org.pastalab.fray.runtime.Runtime;

/**
 * Runs a scenario once. The seed decides which thread runs at each synchronization, the
 * faults, and how much virtual time passes with each step.
 */
final class Schedule {

	private static final long[] STEP_NANOS = { 10_000, 100_000, 500_000, 2_000_000 };

	private static final int ALGORITHMS = 4;

	private static final int[] LENGTHS = { 500, 1000, 2000, 4000, 8000 };

	private final Scenario scenario;

	private final Path folder;

	Schedule(Scenario scenario, Path folder) {
		this.scenario = scenario;
		this.folder = folder;
	}

	Outcome run(long seed) {
		SplittableRandom random = new SplittableRandom(seed);
		Configuration configuration = configuration(scheduler(random), STEP_NANOS[random.nextInt(STEP_NANOS.length)]);
		Decisions decisions = new Decisions();
		configuration.getScheduleObservers().add(decisions);
		Tokens.restart();
		RecordedLog.lines().clear();
		World world = new World(seed);
		Throwable found = run(configuration, world);
		List<String> violations = new ArrayList<>(world.violations());
		if (found != null) {
			violations.add(0, "The scheduler has found " + found);
		}
		return new Outcome(decisions.hash(), decisions.steps(), violations, world.history().trace());
	}

	private Throwable run(Configuration configuration, World world) {
		RunContext context = new RunContext(configuration);
		Throwable[] found = new Throwable[1];
		Thread thread = new Thread(() -> {
			try {
				DelegateSynchronizer synchronizer = new DelegateSynchronizer(context);
				Runtime.NETWORK_DELEGATE = new NetworkDelegate();
				Runtime.LOCK_DELEGATE = new RuntimeDelegate(context, synchronizer);
				Runtime.start();
				this.scenario.run(world);
				world.finish();
				Runtime.onMainExit();
			}
			catch (Throwable ex) {
				Runtime.onReportError(ex);
				Runtime.onMainExit();
			}
			found[0] = context.getBugFound();
			context.shutDown();
		}, "scenario");
		thread.start();
		try {
			thread.join();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
		return found[0];
	}

	private Configuration configuration(Scheduler scheduler, long stepNanos) {
		ExecutionInfo execution = new ExecutionInfo(new LambdaExecutor(() -> Unit.INSTANCE), true, false, -1);
		boolean fullSchedule = false;
		boolean explore = false;
		boolean noExitWhenBugFound = true;
		// As for a replay, the scheduler writes no reports: the seed is the report.
		boolean replay = true;
		boolean noFray = false;
		boolean dummyRun = false;
		boolean ignoreTimedBlock = false;
		boolean sleepAsYield = false;
		boolean resetClassLoader = false;
		boolean redirectStdout = false;
		boolean abortThreadsAfterMainExit = true;
		boolean stackTraceHash = false;
		return new Configuration(execution, this.folder, 1, Integer.MAX_VALUE, scheduler,
				new ControlledRandomProvider(), fullSchedule, explore, noExitWhenBugFound, replay, noFray, dummyRun,
				NetworkDelegateType.NONE, SystemTimeDelegateType.MOCK, stepNanos, ignoreTimedBlock, sleepAsYield,
				resetClassLoader, redirectStdout, abortThreadsAfterMainExit, stackTraceHash, null);
	}

	private static Scheduler scheduler(SplittableRandom random) {
		Randomness decisions = new ControlledRandom(new ArrayList<>(), new ArrayList<>(),
				new Random(random.nextLong()));
		return new FairScheduler(switch (random.nextInt(ALGORITHMS)) {
			case 0 -> new RandomScheduler(decisions);
			case 1 -> new PCTScheduler(decisions, 2 + random.nextInt(8), LENGTHS[random.nextInt(LENGTHS.length)]);
			default -> new POSScheduler(decisions);
		});
	}

	/**
	 * The outcome of a schedule.
	 *
	 * @param decisions a hash of all decisions of the scheduler
	 * @param steps the number of decisions
	 * @param violations the violated promises
	 * @param trace the events in their order
	 */
	record Outcome(long decisions, int steps, List<String> violations, String trace) {

	}

}
