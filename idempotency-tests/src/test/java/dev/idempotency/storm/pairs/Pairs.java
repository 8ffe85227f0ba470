/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm.pairs;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;

import org.jspecify.annotations.Nullable;

/**
 * Combinations that contain all pairs of levels that are not excluded. Each combination
 * is the best of several that begin with a pair that is missing and add, in a random
 * order, the level of each factor that completes most missing pairs. Further ones claim
 * keys ahead.
 */
final class Pairs {

	private static final int CANDIDATES = 10;

	private static final int ATTEMPTS = 300;

	private final Random random;

	private final Set<Pair> all = new LinkedHashSet<>();

	private final Set<Pair> missing;

	private final List<Combination> combinations = new ArrayList<>();

	private Pairs(long seed) {
		this.random = new Random(seed);
		for (Factor one : Factor.values()) {
			for (Factor other : Factor.values()) {
				if (one.compareTo(other) < 0) {
					one.all().forEach((level) -> other.all().forEach((second) -> add(new Pair(level, second))));
				}
			}
		}
		this.missing = new LinkedHashSet<>(this.all);
		while (!this.missing.isEmpty()) {
			Combination best = best();
			this.combinations.add(best);
			this.missing.removeAll(pairs(best));
		}
		addClaimsAhead();
	}

	static Pairs of(long seed) {
		return new Pairs(seed);
	}

	/**
	 * Return the combinations, those with most pairs first, and those that claim keys
	 * ahead last.
	 * @return the combinations
	 */
	List<Combination> combinations() {
		return this.combinations;
	}

	/**
	 * Return the pairs that are not excluded.
	 * @return the pairs
	 */
	Set<Pair> all() {
		return this.all;
	}

	private void add(Pair pair) {
		if (!Exclusion.any(pair.combination())) {
			this.all.add(pair);
		}
	}

	// Keys are claimed ahead with certain levels of several factors only, which a pair
	// does not have. Further combinations contain each level that can be combined with
	// them.
	private void addClaimsAhead() {
		Set<Level> left = new LinkedHashSet<>();
		for (Factor factor : Factor.values()) {
			left.addAll(factor.all());
		}
		left.removeIf((level) -> !Combination.mayClaimAhead(level));
		while (!left.isEmpty()) {
			Level first = left.iterator().next();
			left.remove(first);
			Combination added = claimingAhead(new Combination(Map.of(first.factor(), first.name())), left);
			if (added != null) {
				this.combinations.add(added);
				left.removeIf(added::contains);
			}
		}
	}

	private @Nullable Combination claimingAhead(Combination begun, Set<Level> preferred) {
		Combination combination = begun;
		for (Factor factor : Factor.values()) {
			if (!combination.levels().containsKey(factor)) {
				Combination before = combination;
				List<Level> levels = new ArrayList<>(factor.all());
				Collections.shuffle(levels, this.random);
				Level level = levels.stream()
					.filter((one) -> Combination.mayClaimAhead(one) && !Exclusion.any(before.with(one)))
					.max(Comparator.comparing(preferred::contains))
					.orElse(null);
				if (level == null) {
					return null;
				}
				combination = combination.with(level);
			}
		}
		return Exclusion.any(combination) ? null : combination;
	}

	private Combination best() {
		Combination best = null;
		long most = -1;
		List<Pair> candidates = new ArrayList<>(this.missing);
		for (int i = 0; i < CANDIDATES; i++) {
			Combination candidate = complete(candidates.get(this.random.nextInt(candidates.size())));
			long count = pairs(candidate).stream().filter(this.missing::contains).count();
			if (count > most) {
				most = count;
				best = candidate;
			}
		}
		return best;
	}

	private Combination complete(Pair pair) {
		for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
			Combination combination = attempt(pair.combination());
			if (combination != null) {
				return combination;
			}
		}
		throw new IllegalStateException("No combination contains " + pair);
	}

	private @Nullable Combination attempt(Combination pair) {
		List<Factor> order = new ArrayList<>(Arrays.asList(Factor.values()));
		Collections.shuffle(order, this.random);
		Combination combination = pair;
		for (Factor factor : order) {
			if (!combination.levels().containsKey(factor)) {
				Level level = level(combination, factor);
				if (level == null) {
					return null;
				}
				combination = combination.with(level);
			}
		}
		return combination;
	}

	private @Nullable Level level(Combination combination, Factor factor) {
		List<Level> levels = new ArrayList<>(factor.all());
		Collections.shuffle(levels, this.random);
		Level best = null;
		long most = -1;
		for (Level level : levels) {
			if (!Exclusion.any(combination.with(level))) {
				long count = combination.levels()
					.entrySet()
					.stream()
					.filter((other) -> this.missing.contains(Pair.of(level, other.getKey().level(other.getValue()))))
					.count();
				if (count > most) {
					most = count;
					best = level;
				}
			}
		}
		return best;
	}

	private static Set<Pair> pairs(Combination combination) {
		Set<Pair> pairs = new LinkedHashSet<>();
		List<Level> levels = combination.levels()
			.entrySet()
			.stream()
			.map((entry) -> entry.getKey().level(entry.getValue()))
			.toList();
		for (int i = 0; i < levels.size(); i++) {
			for (int j = i + 1; j < levels.size(); j++) {
				pairs.add(new Pair(levels.get(i), levels.get(j)));
			}
		}
		return pairs;
	}

	/**
	 * Levels of two factors.
	 *
	 * @param one the level of the factor that comes first
	 * @param other the other level
	 */
	record Pair(Level one, Level other) {

		static Pair of(Level one, Level other) {
			return (one.compareTo(other) < 0) ? new Pair(one, other) : new Pair(other, one);
		}

		Combination combination() {
			Map<Factor, String> levels = new EnumMap<>(Factor.class);
			levels.put(this.one.factor(), this.one.name());
			levels.put(this.other.factor(), this.other.name());
			return new Combination(levels);
		}

	}

}
