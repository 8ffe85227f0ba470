/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm.pairs;

import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Runs applications whose configurations contain every pair of levels of the factors, and
 * compares what happens with the model. {@code test.pairs} is the number of trials,
 * {@code test.pairs.seed} selects the configurations, and {@code test.pairs.trial} one of
 * them. With {@code test.pairs.plain=true} the listener is not idempotent, which shows
 * what Spring Kafka does alone.
 */
@Tag("storm")
@Tag("promise-1")
@Tag("promise-3")
@Tag("promise-8")
@Order(1)
@Execution(ExecutionMode.CONCURRENT)
class PairStormTests {

	private static final int IN_EACH_BUILD = 25;

	private static final int LAST = 3;

	private static final long SEED = Long.getLong("test.pairs.seed", 1);

	private static Stream<Arguments> trials() {
		List<Combination> all = Pairs.of(SEED).combinations();
		int count = Math.min(all.size(), Integer.getInteger("test.pairs", IN_EACH_BUILD));
		Integer only = Integer.getInteger("test.pairs.trial");
		return IntStream.range(0, count)
			// Some of the last ones claim keys ahead.
			.map((trial) -> (trial < count - LAST) ? trial : all.size() - count + trial)
			.filter((trial) -> only == null || trial == only)
			.mapToObj((trial) -> Arguments.of(trial, all.get(trial)));
	}

	@ParameterizedTest
	@MethodSource("trials")
	void everyPairOfAbilitiesKeepsItsPromises(int trial, Combination combination) throws Exception {
		assertThat(Trial.run(combination, Boolean.getBoolean("test.pairs.plain")))
			.as("%s. Repeat it with -Dtest=PairStormTests -Dtest.pairs=1000 -Dtest.pairs.seed=%d -Dtest.pairs.trial=%d",
					combination, SEED, trial)
			.isEmpty();
	}

}
