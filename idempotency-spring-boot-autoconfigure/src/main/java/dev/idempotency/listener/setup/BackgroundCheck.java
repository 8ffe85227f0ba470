/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.setup;

import org.jspecify.annotations.Nullable;

import dev.idempotency.Threads;

/**
 * A check that runs once on a thread of its own after all containers have started, so
 * that a slow store or broker does not delay the start.
 */
abstract class BackgroundCheck extends StartupCheck {

	private final String threadName;

	private @Nullable Thread thread;

	BackgroundCheck(String threadName) {
		super(DEFAULT_PHASE);
		this.threadName = threadName;
	}

	abstract @Nullable Runnable prepare();

	@Override
	protected final synchronized void check() {
		Runnable check = (this.thread == null || !this.thread.isAlive()) ? prepare() : null;
		if (check != null) {
			this.thread = Threads.daemon(this.threadName, check);
			this.thread.start();
		}
	}

	@Override
	public final synchronized void stop() {
		super.stop();
		if (this.thread != null) {
			this.thread.interrupt();
		}
	}

}
