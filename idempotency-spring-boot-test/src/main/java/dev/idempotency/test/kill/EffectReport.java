/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;

/**
 * The effects of one kind, compared with the operations that were sent.
 *
 * @since 0.1.0
 */
public final class EffectReport {

	private static final int SHOWN = 10;

	private final String name;

	private final KillReport run;

	private final int count;

	private final List<String> lost;

	private final Map<String, List<Effect>> doubled;

	private final List<String> unknown;

	EffectReport(String name, KillReport run, Collection<Effect> effects) {
		this.name = name;
		this.run = run;
		this.count = effects.size();
		Map<String, List<Effect>> byKey = effects.stream()
			.collect(Collectors.groupingBy(Effect::key, LinkedHashMap::new, Collectors.toList()));
		this.lost = run.sent().keySet().stream().filter((key) -> !byKey.containsKey(key)).toList();
		this.unknown = byKey.keySet().stream().filter((key) -> !run.sent().containsKey(key)).toList();
		byKey.keySet().retainAll(run.sent().keySet());
		byKey.values().removeIf((ofOne) -> ofOne.size() == 1);
		this.doubled = byKey;
	}

	/**
	 * Return the keys of the operations that were sent and had no effect.
	 * @return the keys
	 */
	public List<String> lost() {
		return this.lost;
	}

	/**
	 * Return the effects of the operations that took effect more than once.
	 * @return the effects by key, in their order
	 */
	public Map<String, List<Effect>> doubled() {
		return Collections.unmodifiableMap(this.doubled);
	}

	/**
	 * Return the number of effects beyond the first one of each operation.
	 * @return the number
	 */
	public int surplus() {
		return this.doubled.values().stream().mapToInt((ofOne) -> ofOne.size() - 1).sum();
	}

	/**
	 * Return the keys that have effects, but were not sent in this run.
	 * @return the keys, for example those of an earlier run on the same database
	 */
	public List<String> unknown() {
		return this.unknown;
	}

	/**
	 * Assert that each operation took effect.
	 * @throws AssertionError if some did not
	 */
	public void assertNoneLost() {
		check(this.lost.isEmpty(), this.lost.size() + " operations were lost");
	}

	/**
	 * Assert that no operation took effect more than once.
	 * @throws AssertionError if some did
	 */
	public void assertNoneDoubled() {
		check(this.doubled.isEmpty(), this.doubled.size() + " operations took effect more than once");
	}

	/**
	 * Assert that interruptions explain the number of repeated effects: in leased mode, a
	 * process that is killed between an effect and its completion repeats the effect.
	 * @param perInterruption the number of effects that a process may repeat, the number
	 * of its consumer threads for listeners of single records
	 * @throws AssertionError if there are more than so many times the number of kills and
	 * freezes
	 */
	public void assertDoubledAtMost(int perInterruption) {
		long interruptions = this.run.interruptions().stream().filter(Interruption::leavesOpen).count();
		check(surplus() <= perInterruption * interruptions, surplus() + " effects were repeated, and " + interruptions
				+ " kills and freezes explain at most " + perInterruption * interruptions);
	}

	/**
	 * Assert that each effect before the last one of its operation is one of a process
	 * that was killed or frozen, and that such a process repeated a limited number of
	 * effects. Needs a query that returns the processes.
	 * @param perInterruption the number of effects that a process may repeat for each
	 * time that it was killed or frozen, the number of its consumer threads for listeners
	 * of single records
	 * @throws AssertionError if a process that was not interrupted has repeated an
	 * effect, or a process more than the limit
	 */
	public void assertDoubledOnlyByInterruptedProcesses(int perInterruption) {
		Map<@Nullable Long, Integer> repeated = new LinkedHashMap<>();
		this.doubled.values()
			.forEach((ofOne) -> ofOne.subList(0, ofOne.size() - 1)
				.forEach((effect) -> repeated.merge(effect.process(), 1, Integer::sum)));
		repeated.forEach((process, effects) -> {
			check(process != null, "the query of the effects does not return the processes");
			long open = perInterruption * interruptions(process).stream().filter(Interruption::leavesOpen).count();
			check(effects <= open, effects + " effects of process " + process + " were repeated, and its interruptions "
					+ "explain at most " + open);
		});
	}

	private void check(boolean expected, String failure) {
		if (!expected) {
			throw new AssertionError(this.name + ": " + failure + "\n" + this.run);
		}
	}

	private List<Interruption> interruptions(@Nullable Long process) {
		return this.run.interruptions()
			.stream()
			.filter((interruption) -> Objects.equals(interruption.process(), process))
			.toList();
	}

	@Override
	public String toString() {
		List<String> lines = new ArrayList<>();
		lines.add("%s: %d effects, %d operations lost, %d doubled with %d surplus effects%s".formatted(this.name,
				this.count, this.lost.size(), this.doubled.size(), surplus(), this.unknown.isEmpty() ? ""
						: ", " + this.unknown.size() + " effects of operations that were not sent"));
		this.lost.stream().limit(SHOWN).map((key) -> "  lost: " + key + origin(key)).forEach(lines::add);
		more(this.lost.size(), lines);
		this.doubled.entrySet()
			.stream()
			.limit(SHOWN)
			.map((entry) -> "  doubled: " + entry.getKey() + origin(entry.getKey()) + ", " + entry.getValue().size()
					+ " effects" + causes(entry.getValue()))
			.forEach(lines::add);
		more(this.doubled.size(), lines);
		return String.join("\n", lines);
	}

	private static void more(int count, List<String> lines) {
		if (count > SHOWN) {
			lines.add("  … and " + (count - SHOWN) + " more");
		}
	}

	private String origin(String key) {
		Integer round = this.run.sent().get(key);
		return (round == null || round == 0) ? "" : ", sent in round " + round;
	}

	private String causes(List<Effect> effects) {
		if (effects.stream().allMatch((effect) -> effect.process() == null)) {
			return "";
		}
		return effects.stream().map(this::cause).collect(Collectors.joining(", ", " of the processes ", ""));
	}

	private String cause(Effect effect) {
		List<Interruption> interruptions = interruptions(effect.process());
		String process = (effect.process() != null) ? effect.process().toString() : "unknown";
		return process + (interruptions.isEmpty() ? ""
				: interruptions.stream().map(Interruption::summary).collect(Collectors.joining(", ", " (", ")")));
	}

}
