/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.context.SmartLifecycle;

import dev.idempotency.Internal;
import dev.idempotency.SimpleLifecycle;
import dev.idempotency.Threads;

/**
 * Repeats a step on a thread of its own while the application runs: after the pause that
 * the last step has returned, or as soon as it is woken. It stops after the listener
 * containers.
 *
 * @since 0.1.0
 */
@Internal
public abstract class OutboxLoop extends SimpleLifecycle implements SmartLifecycle {

	static final Duration GRACE = Duration.ofSeconds(2);

	static final Duration UNTIL_WOKEN = Duration.ofDays(1);

	// Listener containers stop at Integer.MAX_VALUE - 100.
	private static final int PHASE = Integer.MAX_VALUE / 2;

	private static final Duration PAUSE_AFTER_ERROR = Duration.ofSeconds(5);

	private static final Log logger = LogFactory.getLog(OutboxLoop.class);

	private final String name;

	private final Duration stopTimeout;

	private final Semaphore wakeUps = new Semaphore(0);

	// Before the first start, a thread that has never run.
	private volatile Thread thread = new Thread();

	protected OutboxLoop(String name, Duration stopTimeout) {
		this.name = name;
		this.stopTimeout = stopTimeout;
	}

	protected abstract Duration step();

	// The work to do once when the loop stops, after the current step.
	void finish() {
	}

	@Override
	public void start() {
		super.start();
		Thread previous = this.thread;
		Thread next = Threads.daemon(this.name, () -> run(previous));
		this.thread = next;
		next.start();
	}

	/**
	 * Make the next step without a pause. A step that runs now is followed by another.
	 */
	public void wake() {
		if (this.wakeUps.availablePermits() == 0) {
			this.wakeUps.release();
		}
	}

	private void run(Thread previous) {
		// A thread that did not end in time must not run beside its successor.
		while (previous.isAlive()) {
			Threads.awaitEnd(previous, PAUSE_AFTER_ERROR);
		}
		while (isCurrent()) {
			// A wake-up from here on may be about work that this step misses.
			this.wakeUps.drainPermits();
			Duration pause = guardedStep();
			try {
				if (isRunning() && pause.compareTo(Duration.ZERO) > 0) {
					this.wakeUps.tryAcquire(pause.toNanos(), TimeUnit.NANOSECONDS);
				}
			}
			catch (InterruptedException ex) {
				logger.debug("Thread '" + this.name + "' was interrupted; it continues until it is stopped", ex);
			}
		}
		if (this.thread == Thread.currentThread()) {
			try {
				finish();
			}
			catch (Throwable ex) {
				logger.error("'" + this.name
						+ "' failed during shutdown. Work that was not recorded is repeated after the next start", ex);
			}
		}
	}

	// After a restart, a late thread must not continue beside its successor.
	protected final boolean isCurrent() {
		return isRunning() && this.thread == Thread.currentThread();
	}

	private Duration guardedStep() {
		try {
			return step();
		}
		catch (Throwable ex) {
			logger.error("A step of '" + this.name + "' failed; the next one starts in " + PAUSE_AFTER_ERROR, ex);
			return PAUSE_AFTER_ERROR;
		}
	}

	// Make no further step, without waiting for the current one.
	void requestStop() {
		super.stop();
		wake();
	}

	boolean isEnded() {
		return !this.thread.isAlive();
	}

	void awaitEnd(Duration timeout) {
		Threads.awaitEnd(this.thread, timeout);
	}

	@Override
	public void stop() {
		requestStop();
		awaitEnd(this.stopTimeout);
		Thread last = this.thread;
		if (last.isAlive() && !Thread.currentThread().isInterrupted()) {
			logger.warn("'" + this.name + "' did not stop within " + this.stopTimeout
					+ " and is interrupted; the work that it has not recorded is repeated after a restart");
			last.interrupt();
			Threads.awaitEnd(last, Duration.ofSeconds(1));
		}
	}

	@Override
	public int getPhase() {
		return PHASE;
	}

}
