/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.setup;

import org.springframework.context.SmartLifecycle;

import dev.idempotency.SimpleLifecycle;

/**
 * A check that runs once when the application starts.
 */
public abstract class StartupCheck extends SimpleLifecycle implements SmartLifecycle {

	private final int phase;

	protected StartupCheck(int phase) {
		this.phase = phase;
	}

	protected abstract void check();

	@Override
	public void start() {
		check();
		super.start();
	}

	@Override
	public int getPhase() {
		return this.phase;
	}

}
