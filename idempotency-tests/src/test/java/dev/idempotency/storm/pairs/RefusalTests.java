/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm.pairs;

import java.util.Objects;
import java.util.stream.Stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that combinations which are not supported stop the start with the sentence of
 * their {@link Exclusion}.
 */
@Tag("storm")
@Tag("promise-12")
@EnabledIfSystemProperty(named = "test.pairs", matches = "\\d+", disabledReason = "Part of the profile storm")
class RefusalTests {

	private static Stream<Exclusion> refusals() {
		return Exclusion.ALL.stream().filter(Exclusion::refused);
	}

	@ParameterizedTest
	@MethodSource("refusals")
	void startIsRefused(Exclusion exclusion) {
		for (Combination combination : exclusion.combinations()) {
			Throwable failure = Trial.refusal(combination);
			assertThat(failure).as(combination.toString()).isNotNull();
			assertThat(Stream.iterate(failure, Objects::nonNull, Throwable::getCause).map(String::valueOf))
				.as(combination.toString())
				.anyMatch((message) -> message.contains(exclusion.reason()));
		}
	}

}
