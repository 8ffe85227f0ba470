/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.util.List;

import org.springframework.context.Lifecycle;
import org.springframework.context.SmartLifecycle;

/**
 * Starts and stops several components in one phase. The components are not beans, so that
 * they cannot replace or hide beans of the same type. The group may be empty.
 *
 * @param phase the phase
 * @param members the components
 */
record LifecycleGroup(int phase, List<? extends Lifecycle> members) implements SmartLifecycle {

	// Before the listener containers, which have Integer.MAX_VALUE - 100, and after the
	// connection factories, which have 0. At the stop it is the other way round.
	static final int BEFORE_CONTAINERS = Integer.MAX_VALUE / 2;

	@Override
	public void start() {
		this.members.forEach(Lifecycle::start);
	}

	@Override
	public void stop() {
		this.members.forEach(Lifecycle::stop);
	}

	@Override
	public boolean isRunning() {
		return this.members.stream().anyMatch(Lifecycle::isRunning);
	}

	@Override
	public int getPhase() {
		return this.phase;
	}

}
