/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.micrometer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the dashboard and the alert rules: the meters and tags of their queries
 * exist.
 */
class MonitoringFilesTests {

	private static final Path FILES = Path.of("..", "docs", "monitoring");

	private static final PublishedMeters METERS = PublishedMeters.all();

	private static final Pattern LABEL = Pattern.compile("\\{\\{\\s*(?:\\$labels\\.)?(\\w+)\\s*}}");

	private static final Pattern VARIABLE = Pattern.compile("label_values\\((\\w+), (\\w+)\\)");

	private static final Pattern METER = Pattern.compile("^\\| `(idempotency\\.[\\w.]+)` \\|", Pattern.MULTILINE);

	private static final Pattern ROW = Pattern.compile("^\\| `(\\w+)` \\|", Pattern.MULTILINE);

	@ParameterizedTest
	@MethodSource("questions")
	void everyMeterAndTagOfAQueryExists(Question question) {
		Query query = Query.parse(question.expression());
		assertThat(query.unknown()).isEmpty();
		assertThat(query.selectors()).isNotEmpty().allSatisfy((selector) -> {
			assertThat(METERS.names()).contains(selector.meter());
			assertThat(METERS.tags(selector.meter())).containsAll(query.groups());
			assertThat(selector.conditions()).allSatisfy((condition) -> {
				assertThat(METERS.tags(selector.meter())).contains(condition.tag());
				assertThat(METERS.values(selector.meter(), condition.tag())).containsAll(condition.values());
			});
		});
		assertThat(query.groups()).containsAll(question.labels());
	}

	static Stream<Question> questions() throws IOException {
		List<Question> questions = new ArrayList<>();
		for (JsonNode panel : dashboard().path("panels")) {
			assertThat(panel.path("targets")).as(panel.path("title").asString()).isNotEmpty();
			for (JsonNode target : panel.path("targets")) {
				questions.add(new Question(panel.path("title").asString(), target.path("expr").asString(),
						labels(target.path("legendFormat").asString())));
			}
		}
		for (Map<String, Object> rule : AlertRules.all()) {
			questions.add(new Question(String.valueOf(rule.get("alert")), String.valueOf(rule.get("expr")),
					labels(String.valueOf(rule.get("annotations")))));
		}
		return questions.stream();
	}

	@Test
	void variablesOfTheDashboardExist() throws IOException {
		Matcher variable = VARIABLE.matcher(dashboard().path("templating").toString());
		assertThat(variable.find()).isTrue();
		assertThat(METERS.names()).contains(variable.group(1));
		assertThat(METERS.tags(variable.group(1))).contains(variable.group(2));
	}

	@Test
	void everyMeterIsOnTheDashboard() throws IOException {
		String dashboard = dashboard().toString();
		assertThat(METERS.names()).isNotEmpty().allMatch(dashboard::contains);
	}

	@Test
	void everyMeterHasARowInTheTableAndEveryRowAMeter() throws IOException {
		Set<String> rows = METER.matcher(Files.readString(FILES.resolve("README.md")))
			.results()
			.map((row) -> row.group(1).replace('.', '_'))
			.collect(Collectors.toSet());
		assertThat(METERS.names()).map((name) -> name.replaceAll("_(seconds|total|max|sum|count|seconds_.*)$", ""))
			.map((name) -> name.replaceAll("_seconds$", ""))
			.allMatch(rows::contains);
		assertThat(rows).allMatch((row) -> METERS.names().stream().anyMatch((name) -> name.startsWith(row)));
	}

	@Test
	void everyAlertHasARowInTheRunbook() throws IOException {
		Set<String> rows = new TreeSet<>();
		Matcher row = ROW.matcher(Files.readString(FILES.resolve("README.md")));
		while (row.find()) {
			rows.add(row.group(1));
		}
		assertThat(rows).isNotEmpty()
			.containsExactlyInAnyOrderElementsOf(
					AlertRules.all().stream().map((rule) -> (String) rule.get("alert")).toList());
	}

	private static Set<String> labels(String text) {
		Set<String> labels = new TreeSet<>();
		Matcher label = LABEL.matcher(text);
		while (label.find()) {
			labels.add(label.group(1));
		}
		return labels;
	}

	private static JsonNode dashboard() throws IOException {
		return JsonMapper.builder().build().readTree(Files.readString(FILES.resolve("grafana-dashboard.json")));
	}

	/**
	 * A query.
	 *
	 * @param name who asks
	 * @param expression the query
	 * @param labels the tags that are shown
	 */
	record Question(String name, String expression, Set<String> labels) {

		@Override
		public String toString() {
			return this.name + ": " + this.expression;
		}

	}

}
