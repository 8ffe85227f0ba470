/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;

import dev.idempotency.Internal;

/**
 * Generates UUIDs of version 7: 48 bits of Unix milliseconds, a counter of 12 bits and 62
 * random bits. Within a process each UUID is greater than all earlier ones, by the method
 * "fixed bit-length dedicated counter" (method 1) of RFC 9562, section 6.2. In each
 * millisecond the counter starts at a random value below half of its range. If it
 * overflows, or if the clock is set back, the time of the UUIDs is ahead of the clock.
 *
 * @since 0.1.0
 */
@Internal
public final class TimeOrderedUuid {

	private static final int COUNTER_BITS = 12;

	private static final int VERSION = 7;

	// Milliseconds and counter in one number, so that an overflow increments the time.
	private static final AtomicLong LAST = new AtomicLong();

	private TimeOrderedUuid() {
	}

	/**
	 * Generate a UUID.
	 * @return a UUID that is greater than all earlier ones of this process
	 */
	public static UUID next() {
		// Uses SecureRandom, so that processes that start together do not collide.
		UUID random = UUID.randomUUID();
		long now = System.currentTimeMillis();
		long tick = LAST.updateAndGet((last) -> following(last, now, random.getMostSignificantBits()));
		// The lower half already has the variant bits.
		return new UUID(layout(tick), random.getLeastSignificantBits());
	}

	static long following(long last, long now, long random) {
		long first = (now << COUNTER_BITS) | (random >>> (Long.SIZE - COUNTER_BITS + 1));
		// The maximum of both would repeat counters that are above the new start.
		return (now > (last >>> COUNTER_BITS)) ? first : last + 1;
	}

	static long layout(long tick) {
		long counter = tick & ((1 << COUNTER_BITS) - 1);
		return ((tick >>> COUNTER_BITS) << Short.SIZE) | ((long) VERSION << COUNTER_BITS) | counter;
	}

}
