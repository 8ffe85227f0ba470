/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.micrometer;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.DoubleBinaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import dev.idempotency.micrometer.PublishedMeters.Sample;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The meters and tags that a PromQL query names.
 *
 * @param text the query
 * @param selectors its meters, with the conditions on their tags
 * @param groups the tags by which it groups
 * @param unknown names that are neither a meter of the library nor a word of the language
 */
record Query(String text, List<Selector> selectors, Set<String> groups, Set<String> unknown) {

	private static final Set<String> WORDS = Set.of("sum", "max", "rate", "increase", "by", "or", "unless", "offset");

	private static final Pattern NAME = Pattern.compile("(?<![\\w$\"])([a-zA-Z_]\\w*)(\\{[^}]*})?");

	private static final Pattern GROUPS = Pattern.compile("\\bby \\(([^)]*)\\)");

	private static final Pattern CONDITION = Pattern.compile("([a-z_]+)\\s*(=~|=)\\s*\"([^\"]*)\"");

	private static final Pattern COMPARISON = Pattern.compile("(max|sum) by \\([^()]*\\) \\([^()]*\\) > ([0-9.]+)");

	static Query parse(String text) {
		Set<String> groups = new TreeSet<>();
		Matcher group = GROUPS.matcher(text);
		while (group.find()) {
			groups.addAll(List.of(group.group(1).split(",\\s*")));
		}
		List<Selector> selectors = new ArrayList<>();
		Set<String> unknown = new TreeSet<>();
		String rest = group.replaceAll("").replaceAll("\\[[^\\]]*]", "").replaceAll("offset \\d+[smhd]", "");
		Matcher name = NAME.matcher(rest);
		while (name.find()) {
			if (name.group(1).startsWith("idempotency_")) {
				selectors.add(new Selector(name.group(1), conditions(name.group(2))));
			}
			else if (!WORDS.contains(name.group(1))) {
				unknown.add(name.group(1));
			}
		}
		return new Query(text, selectors, groups, unknown);
	}

	private Matcher comparison() {
		Matcher comparison = COMPARISON.matcher(this.text);
		assertThat(comparison.matches()).as(this.text).isTrue();
		return comparison;
	}

	/**
	 * The threshold of the comparison.
	 * @return the threshold
	 */
	double limit() {
		return Double.parseDouble(comparison().group(2));
	}

	/**
	 * Whether the query has a result now. Supports one comparison of the maximum or the
	 * sum of a meter with a number.
	 * @param meters the meters
	 * @return whether some group matches
	 */
	boolean holds(PublishedMeters meters) {
		DoubleBinaryOperator both = comparison().group(1).equals("max") ? Math::max : Double::sum;
		Map<List<String>, Double> values = new HashMap<>();
		for (Selector selector : this.selectors) {
			for (Sample sample : meters.samples().getOrDefault(selector.meter(), List.of())) {
				if (selector.conditions().stream().allMatch((condition) -> condition.accepts(sample))) {
					values.merge(this.groups.stream().map((tag) -> sample.tags().getOrDefault(tag, "")).toList(),
							sample.value(), both::applyAsDouble);
				}
			}
		}
		double limit = limit();
		return values.values().stream().anyMatch((value) -> value > limit);
	}

	private static List<Condition> conditions(String text) {
		List<Condition> conditions = new ArrayList<>();
		Matcher condition = CONDITION.matcher((text != null) ? text : "");
		while (condition.find()) {
			boolean variable = condition.group(3).startsWith("$");
			conditions.add(
					new Condition(condition.group(1), variable ? List.of() : List.of(condition.group(3).split("\\|"))));
		}
		return conditions;
	}

	/**
	 * A meter in a query.
	 *
	 * @param meter its name
	 * @param conditions the conditions on its tags
	 */
	record Selector(String meter, List<Condition> conditions) {

	}

	/**
	 * A condition on a tag.
	 *
	 * @param tag the tag
	 * @param values its values, none if a variable has them
	 */
	record Condition(String tag, List<String> values) {

		boolean accepts(Sample sample) {
			return this.values.isEmpty() || this.values.contains(sample.tags().getOrDefault(this.tag, ""));
		}

	}

}
