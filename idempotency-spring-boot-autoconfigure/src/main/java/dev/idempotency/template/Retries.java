/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The retries of one settlement that is pending.
 */
final class Retries {

	private static final Duration LONGEST_PAUSE = Duration.ofSeconds(30);

	// The number of failed retries after which a settlement counts as refused, because
	// other calls succeed.
	private static final int REFUSALS = 3;

	// Without a pause the failed retries would be a large part of all calls, and would
	// open the circuit breaker.
	private static final Duration RETRY_PAUSE = Duration.ofMillis(500);

	private final ReentrantLock lock = new ReentrantLock();

	private volatile long since;

	private volatile long triedAt;

	private volatile Duration pause = Duration.ZERO;

	private volatile int refusals;

	Retries() {
		begin();
	}

	// Another thread may hold the lock.
	void begin() {
		this.since = System.nanoTime();
		this.triedAt = this.since;
	}

	ReentrantLock lock() {
		return this.lock;
	}

	// The time since the settlement was first tried.
	Duration age() {
		return Duration.ofNanos(System.nanoTime() - this.since);
	}

	boolean isDue() {
		return System.nanoTime() - this.triedAt >= this.pause.toNanos();
	}

	// Make the retry due, because other calls of the store succeed.
	void makeDue() {
		if (this.refusals < REFUSALS) {
			this.pause = (this.refusals == 0) ? Duration.ZERO : RETRY_PAUSE;
		}
	}

	// A settlement that the store always refuses must not count as repeated outages.
	void failed(boolean storeAnswers) {
		this.triedAt = System.nanoTime();
		this.refusals += storeAnswers ? 1 : 0;
		Duration longer = this.pause.isZero() ? Duration.ofSeconds(1) : this.pause.multipliedBy(2);
		this.pause = (longer.compareTo(LONGEST_PAUSE) > 0) ? LONGEST_PAUSE : longer;
	}

}
