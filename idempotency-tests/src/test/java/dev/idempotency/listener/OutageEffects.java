/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * The effects of a listener, in order. Times are those of {@link System#nanoTime()}.
 */
final class OutageEffects {

	private final Queue<Effect> effects = new ConcurrentLinkedQueue<>();

	void add(Effect effect) {
		this.effects.add(effect);
	}

	List<String> keys() {
		return this.effects.stream().map(Effect::key).toList();
	}

	// The effects after the first one of their keys.
	List<String> doubled() {
		Set<String> first = new HashSet<>();
		return keys().stream().filter((key) -> !first.add(key)).toList();
	}

	// The effects of keys that were already completed.
	List<String> afterCompletion() {
		return this.effects.stream().filter(Effect::completed).map(Effect::key).toList();
	}

	List<Long> timesOf(String key) {
		return this.effects.stream().filter((effect) -> effect.key().equals(key)).map(Effect::nanos).toList();
	}

	Stream<Effect> since(int partition, long since) {
		return this.effects.stream().filter((effect) -> effect.partition() == partition && effect.nanos() > since);
	}

	// The longest time without an effect so far.
	Duration longestGap(int partition, long since) {
		long[] times = LongStream
			.concat(LongStream.of(since, System.nanoTime()), since(partition, since).mapToLong(Effect::nanos))
			.sorted()
			.toArray();
		return Duration
			.ofNanos(IntStream.range(1, times.length).mapToLong((i) -> times[i] - times[i - 1]).max().orElseThrow());
	}

	/**
	 * An effect.
	 *
	 * @param key the idempotency key
	 * @param partition the partition of the record
	 * @param nanos the time of the effect
	 * @param completed whether the key was already completed
	 */
	record Effect(String key, int partition, long nanos, boolean completed) {

	}

}
