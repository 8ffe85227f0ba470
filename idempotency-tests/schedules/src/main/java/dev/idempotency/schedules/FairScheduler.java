/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.pastalab.fray.core.ThreadContext;
import org.pastalab.fray.core.randomness.Randomness;
import org.pastalab.fray.core.scheduler.Scheduler;

/**
 * Runs a thread that another scheduler has not chosen for a long time. Otherwise threads
 * with higher priorities that wait in a loop for this one would run forever.
 */
final class FairScheduler extends Scheduler {

	private static final int LONGEST_WAIT = 3000;

	private final Scheduler scheduler;

	private final Map<ThreadContext, Integer> waitingSince = new HashMap<>();

	private int step;

	FairScheduler(Scheduler scheduler) {
		super(scheduler.getRand());
		this.scheduler = scheduler;
	}

	@Override
	public ThreadContext scheduleNextOperation(List<ThreadContext> threads, Collection<ThreadContext> allThreads) {
		this.step++;
		this.waitingSince.keySet().retainAll(threads);
		ThreadContext next = null;
		for (ThreadContext thread : threads) {
			int since = this.waitingSince.computeIfAbsent(thread, (added) -> this.step);
			if (this.step - since > LONGEST_WAIT && next == null) {
				next = thread;
			}
		}
		if (next == null) {
			next = this.scheduler.scheduleNextOperation(threads, allThreads);
		}
		this.waitingSince.remove(next);
		return next;
	}

	@Override
	public Scheduler nextIteration(Randomness randomness) {
		return new FairScheduler(this.scheduler.nextIteration(randomness));
	}

}
