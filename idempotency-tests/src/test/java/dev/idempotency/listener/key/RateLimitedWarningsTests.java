/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import dev.idempotency.testsupport.Logs;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link RateLimitedWarnings}.
 */
@Tag("promise-10")
class RateLimitedWarningsTests {

	private final AtomicLong time = new AtomicLong(-5);

	private final RateLimitedWarnings warnings = new RateLimitedWarnings(this.time::get);

	@Test
	void warningIsRepeatedOncePerMinuteWithTheNumberOfSuppressedWarnings() {
		try (Logs logs = new Logs()) {
			warn("first", 3);
			warn("second", 1);
			this.time.addAndGet(Duration.ofSeconds(59).toNanos());
			warn("first", 1);
			this.time.addAndGet(Duration.ofSeconds(1).toNanos());
			warn("first", 2);
			this.time.addAndGet(Duration.ofMinutes(2).toNanos());
			warn("first", 1);
			warn("second", 1);
			assertThat(logs.messages("WARN")).containsExactly("about first", "about second",
					"about first (3 more since the last warning)", "about first (1 more since the last warning)",
					"about second");
		}
	}

	@Test
	void reasonsBeyondAHundredShareTheirWarnings() {
		try (Logs logs = new Logs()) {
			IntStream.range(0, 200).forEach((i) -> warn("reason " + i, 1));
			assertThat(logs.messages("WARN")).hasSize(101);
			this.time.addAndGet(Duration.ofMinutes(1).toNanos());
			warn("another reason", 1);
			assertThat(logs.messages("WARN")).last().isEqualTo("about another reason (99 more since the last warning)");
		}
	}

	private void warn(String reason, int times) {
		IntStream.range(0, times).forEach((i) -> this.warnings.warn(reason, "about " + reason, null));
	}

}
