/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.SplittableRandom;

import dev.idempotency.template.StoreObserver.StoreCall;

/**
 * Decides the faults of the store by the seed. Their number is limited, so that a
 * schedule ends.
 */
final class Faults {

	private static final int HUNDRED = 100;

	private final SplittableRandom random;

	private Fault[] kinds = {};

	private Set<StoreCall> calls = EnumSet.allOf(StoreCall.class);

	private int percent;

	private int remaining;

	private Duration longest = Duration.ofSeconds(1);

	private boolean outage;

	private long lastAt = System.nanoTime();

	Faults(SplittableRandom random) {
		this.random = random;
	}

	Faults some(int percent, int limit, Fault... kinds) {
		this.percent = percent;
		this.remaining = limit;
		this.kinds = kinds.clone();
		return this;
	}

	Faults only(Set<StoreCall> calls) {
		this.calls = EnumSet.copyOf(calls);
		return this;
	}

	Faults longestDelay(Duration longest) {
		this.longest = longest;
		return this;
	}

	// Begin or end an outage. During the outage, each call fails, some of them after
	// their effect.
	void setOutage(boolean outage) {
		this.outage = outage;
		this.lastAt = System.nanoTime();
	}

	Duration sinceLast() {
		return Duration.ofNanos(System.nanoTime() - this.lastAt);
	}

	void heal() {
		this.remaining = 0;
		this.outage = false;
	}

	Fault next(StoreCall call) {
		if (this.outage) {
			return (this.random.nextInt(2) == 0) ? Fault.NO_EFFECT : Fault.LOST_ANSWER;
		}
		if (this.remaining == 0 || !this.calls.contains(call) || this.random.nextInt(HUNDRED) >= this.percent) {
			return Fault.NONE;
		}
		this.remaining--;
		this.lastAt = System.nanoTime();
		return this.kinds[this.random.nextInt(this.kinds.length)];
	}

	Duration delay() {
		return Duration.ofMillis(1 + this.random.nextLong(this.longest.toMillis()));
	}

}
