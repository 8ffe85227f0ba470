/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Threads of which the first cannot be created, as in a system that has run out of
 * threads.
 */
public final class FailingThreads implements ThreadFactory {

	private final AtomicInteger left;

	public FailingThreads(int failures) {
		this.left = new AtomicInteger(failures);
	}

	@Override
	public Thread newThread(Runnable task) {
		if (this.left.getAndDecrement() > 0) {
			// An executor of Java 21 and later does not call Thread.start(). An
			// OutOfMemoryError would end the whole run of the tests if a test let it
			// pass.
			throw new InternalError("unable to create native thread, as it were");
		}
		Thread thread = new Thread(task);
		thread.setDaemon(true);
		return thread;
	}

}
