/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm.pairs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Writes {@code docs/combinations.md} with {@code -Dtest.write-docs}, and compares it.
 */
class CombinationsPageTests {

	private static final Path PAGE = Path.of("../docs/combinations.md");

	@Test
	void pageListsAllCombinations() throws IOException {
		String page = page();
		if (System.getProperty("test.write-docs") != null) {
			Files.writeString(PAGE, page);
			return;
		}
		assertThat(Files.readString(PAGE)).as("docs/combinations.md. Run with -Dtest.write-docs to write it")
			.isEqualTo(page);
	}

	// A pair is in a trial, or an exclusion says why it is not.
	@Test
	void noPairIsMissing() {
		Pairs pairs = Pairs.of(1);
		assertThat(pairs.all()).allMatch((pair) -> pairs.combinations()
			.stream()
			.anyMatch((trial) -> trial.contains(pair.one()) && trial.contains(pair.other())));
		assertThat(pairs.combinations()).noneMatch(Exclusion::any);
	}

	private static String page() {
		Pairs pairs = Pairs.of(1);
		int levels = Arrays.stream(Factor.values()).mapToInt((factor) -> factor.levels().size()).sum();
		StringBuilder page = new StringBuilder(
				"""
						# Combinations

						`PairStormTests` combines the abilities of the library and of Spring Kafka: %d factors with %d levels. %d trials
						contain each of the %d pairs of levels that are supported, and the last ones claim keys ahead, which needs levels of
						several factors. Each trial is an application of its own with about fifty records: copies, failures, declined and
						rejected records. When they are done, the consumers start again, and a copy of each is sent. The result is compared with a model: effects, order,
						offsets, calls, attempts, replies, dead letters, outcomes, meters, records of the store, messages of the outbox,
						connections and threads.

						```
						mvn -Pstorm -pl idempotency-tests -am verify -Dtest='PairStormTests,RefusalTests'
						```

						The test writes this page. `FunctionPairTests` does the same for [functions of Spring Cloud
						Stream](spring-cloud-stream.md): function or consumer, mode, store, key, version, fingerprint, attempts,
						concurrency, transactions of the binder, composition, local cache, declining function.

						```
						mvn -pl idempotency-stream-tests -am verify -Dtest=FunctionPairTests -Dtest.pairs=100
						```

						## Factors

						| factor | levels |
						|---|---|
						"""
					.formatted(Factor.values().length, levels, pairs.combinations().size(), pairs.all().size()));
		for (Factor factor : Factor.values()) {
			page.append("| ")
				.append(factor.title())
				.append(" | ")
				.append(String.join(", ", factor.levels()))
				.append(" |\n");
		}
		page.append("\n## Refused\n\nThe start of such an application fails with the sentence (`RefusalTests`).\n\n")
			.append(table("sentence", Exclusion.ALL.stream().filter(Exclusion::refused).toList()))
			.append("\n## Not tested\n\nThese combinations have no meaning, or Spring Kafka does not support them.\n\n")
			.append(table("reason", Exclusion.ALL.stream().filter((exclusion) -> !exclusion.refused()).toList()))
			.append("\n## Limits\n\nThe oracle allows these deviations, and no other.\n\n");
		for (Limit limit : Limit.values()) {
			page.append("- ").append(limit.sentence()).append('\n');
		}
		return page.toString();
	}

	private static String table(String head, List<Exclusion> exclusions) {
		return "| combination | " + head + " |\n|---|---|\n"
				+ exclusions.stream()
					.map((exclusion) -> "| " + exclusion + " | " + exclusion.reason() + " |\n")
					.collect(Collectors.joining());
	}

}
