/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.util.Collection;

import org.pastalab.fray.core.ThreadContext;
import org.pastalab.fray.rmi.ScheduleObserver;

/**
 * Computes a hash of the decisions of the scheduler: which thread ran, and for which
 * operation.
 */
final class Decisions implements ScheduleObserver<ThreadContext> {

	private static final long PRIME = 0x100000001B3L;

	private long hash = 0xCBF29CE484222325L;

	private int steps;

	@Override
	public void onNewSchedule(Collection<? extends ThreadContext> threads, ThreadContext scheduled) {
		this.steps++;
		this.hash = (this.hash ^ scheduled.getIndex()) * PRIME;
		this.hash = (this.hash ^ scheduled.getPendingOperation().getClass().getName().hashCode()) * PRIME;
	}

	@Override
	public void onContextSwitch(ThreadContext current, ThreadContext next) {
	}

	long hash() {
		return this.hash;
	}

	int steps() {
		return this.steps;
	}

}
