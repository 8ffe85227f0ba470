/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

import dev.idempotency.test.kill.Interruption.Kind;

/**
 * The result of a run of the {@link KillHarness}. {@link #toString()} is a summary for
 * the output of a test.
 *
 * @since 0.1.0
 */
public final class KillReport {

	private final String name;

	private final long seed;

	private final Map<String, Integer> sent;

	private final List<Interruption> interruptions;

	private final Duration duration;

	private final Path output;

	private final Map<String, EffectReport> effects = new LinkedHashMap<>();

	KillReport(String name, long seed, Map<String, Integer> sent, List<Interruption> interruptions, Duration duration,
			Path output) {
		this.name = name;
		this.seed = seed;
		this.sent = sent;
		this.interruptions = interruptions;
		this.duration = duration;
		this.output = output;
	}

	void add(String name, Collection<Effect> effects) {
		this.effects.put(name, new EffectReport(name, this, effects));
	}

	/**
	 * Return the operations that were sent.
	 * @return for each key the round in which it was sent first, 0 if this is not known
	 */
	public Map<String, Integer> sent() {
		return Collections.unmodifiableMap(this.sent);
	}

	/**
	 * Return the interruptions in their order.
	 * @return the interruptions
	 */
	public List<Interruption> interruptions() {
		return this.interruptions;
	}

	/**
	 * Return the identifiers of the processes that were killed.
	 * @return the identifiers
	 */
	public Set<Long> killed() {
		return this.interruptions.stream()
			.filter((interruption) -> interruption.kind() == Kind.KILLED)
			.map(Interruption::process)
			.collect(Collectors.toUnmodifiableSet());
	}

	/**
	 * Return the duration of the run.
	 * @return the duration from the start of the first process until all had ended
	 */
	public Duration duration() {
		return this.duration;
	}

	/**
	 * Return the seed of the run.
	 * @return the seed
	 */
	public long seed() {
		return this.seed;
	}

	/**
	 * Return the effects of one query.
	 * @param name the name that was given to
	 * {@link KillHarness#effects(String, EffectQuery)}
	 * @return the effects
	 * @throws IllegalArgumentException if there is no query of this name
	 */
	public EffectReport effects(String name) {
		EffectReport report = this.effects.get(name);
		if (report == null) {
			throw new IllegalArgumentException(
					"There are no effects with the name '" + name + "'. The names are " + this.effects.keySet());
		}
		return report;
	}

	/**
	 * Assert for all kinds of effects that each operation took effect.
	 * @throws AssertionError if some did not
	 */
	public void assertNoneLost() {
		this.effects.values().forEach(EffectReport::assertNoneLost);
	}

	/**
	 * Assert for all kinds of effects that no operation took effect more than once.
	 * @throws AssertionError if some did
	 */
	public void assertNoneDoubled() {
		this.effects.values().forEach(EffectReport::assertNoneDoubled);
	}

	/**
	 * Assert for all kinds of effects that interruptions explain the number of repeated
	 * effects.
	 * @param perInterruption the number of effects that a process may repeat
	 * @throws AssertionError if there are more
	 * @see EffectReport#assertDoubledAtMost(int)
	 */
	public void assertDoubledAtMost(int perInterruption) {
		this.effects.values().forEach((report) -> report.assertDoubledAtMost(perInterruption));
	}

	private long count(Kind kind) {
		return this.interruptions.stream().filter((interruption) -> interruption.kind() == kind).count();
	}

	@Override
	public String toString() {
		return "%s: %d operations sent, %d kills, %d freezes, %d terminations in %d s; seed %d%n".formatted(this.name,
				this.sent.size(), count(Kind.KILLED), count(Kind.FROZEN), count(Kind.TERMINATED),
				this.duration.toSeconds(), this.seed)
				+ this.effects.values().stream().map(EffectReport::toString).collect(Collectors.joining("\n"))
				+ "\nThe output of the processes is in " + this.output;
	}

}
