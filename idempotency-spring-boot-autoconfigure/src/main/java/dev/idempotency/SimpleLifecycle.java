/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

import org.springframework.context.Lifecycle;

/**
 * A component that is running from its start to its stop. Subclasses add what happens
 * then.
 *
 * @since 0.1.0
 */
@Internal
public abstract class SimpleLifecycle implements Lifecycle {

	private volatile boolean running;

	@Override
	public void start() {
		this.running = true;
	}

	@Override
	public void stop() {
		this.running = false;
	}

	@Override
	public boolean isRunning() {
		return this.running;
	}

}
