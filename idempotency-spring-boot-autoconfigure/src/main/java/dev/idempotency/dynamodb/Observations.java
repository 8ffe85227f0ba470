/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.dynamodb;

import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;

import org.jspecify.annotations.Nullable;

/**
 * The claims of other owners that this process has seen, with the time since which each
 * of them is unchanged. The time is that of the monotonic clock of this process, because
 * DynamoDB has no clock that a condition can use, and the clocks of two clients may
 * differ by any amount.
 * <p>
 * An owner that is alive renews its claim several times within a lease, and each renewal
 * changes the item. A claim that is unchanged for a whole lease has therefore expired.
 * <p>
 * The number of observations is limited. Beyond the limit, a new observation replaces one
 * that nobody has continued, or does not begin: a take-over may be late, never early.
 */
final class Observations {

	static final int MAX = 100_000;

	private final int max;

	// The least recently continued observation comes first.
	private final Map<UUID, Observation> observations = new LinkedHashMap<>(16, 0.75f, true);

	Observations(int max) {
		this.max = max;
	}

	synchronized Observation observe(UUID id, RecordItem item, long now) {
		Observation known = this.observations.get(id);
		long since = (known != null && known.isOf(item)) ? known.since() : now;
		Observation current = new Observation(item.token(), item.beat(), item.lease().toNanos(), since, now);
		if (known != null || hasRoom(now)) {
			this.observations.put(id, current);
		}
		return current;
	}

	private boolean hasRoom(long now) {
		if (this.observations.size() < this.max) {
			return true;
		}
		Iterator<Observation> eldest = this.observations.values().iterator();
		Observation oldest = eldest.next();
		if (now - oldest.latest() <= 2 * oldest.lease()) {
			return false;
		}
		eldest.remove();
		return true;
	}

	// Return the observation of a claim that was unchanged for a whole lease.
	synchronized @Nullable Observation findExpired(UUID id, long now) {
		Observation known = this.observations.get(id);
		return (known != null && known.isExpired(now)) ? known : null;
	}

	synchronized void end(UUID id) {
		this.observations.remove(id);
	}

	synchronized int size() {
		return this.observations.size();
	}

	/**
	 * A claim that was seen.
	 *
	 * @param token the token of its owner
	 * @param beat the number that its owner changes with each renewal
	 * @param lease its lease, in nanoseconds
	 * @param since the time when it was first seen
	 * @param latest the time when it was last seen
	 */
	record Observation(String token, long beat, long lease, long since, long latest) {

		private boolean isOf(RecordItem item) {
			return this.token.equals(item.token()) && this.beat == item.beat();
		}

		boolean isExpired(long now) {
			return now - this.since >= this.lease;
		}

		Duration remaining(long now) {
			return Duration.ofNanos(Math.max(0, this.lease - (now - this.since)));
		}

	}

}
