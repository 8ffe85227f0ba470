/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/**
 * Lets the first event of each kind pass and then at most one per minute, so that many of
 * them do not flood the log.
 */
@Internal
public final class RateLimit {

	private static final long INTERVAL = Duration.ofMinutes(1).toNanos();

	private static final String OTHERS = "";

	private final Map<String, Kind> kinds = new ConcurrentHashMap<>();

	private final int maximum;

	private final LongSupplier nanoTime;

	/**
	 * Create a limit.
	 * @param maximum the number of kinds to tell apart, because a kind may contain a
	 * value of a record. Further ones are one kind
	 * @param nanoTime the clock, {@link System#nanoTime()} outside of tests
	 */
	public RateLimit(int maximum, LongSupplier nanoTime) {
		this.maximum = maximum;
		this.nanoTime = nanoTime;
	}

	/**
	 * Ask whether an event passes.
	 * @param kind its kind
	 * @return the number of events of the kind that have not passed since the last one
	 * that has; -1 if this one does not pass
	 */
	public long next(String kind) {
		String name = (this.kinds.containsKey(kind) || this.kinds.size() < this.maximum) ? kind : OTHERS;
		return this.kinds.computeIfAbsent(name, (added) -> new Kind()).next(this.nanoTime.getAsLong());
	}

	private static final class Kind {

		private long suppressed = -1;

		private long last;

		synchronized long next(long now) {
			if (this.suppressed >= 0 && now - this.last < INTERVAL) {
				this.suppressed++;
				return -1;
			}
			long count = Math.max(this.suppressed, 0);
			this.last = now;
			this.suppressed = 0;
			return count;
		}

	}

}
