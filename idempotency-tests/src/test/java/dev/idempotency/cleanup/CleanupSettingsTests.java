/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.cleanup;

import java.time.Duration;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import dev.idempotency.IdempotencyConfigurationException;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link CleanupJob.Settings}.
 */
@Tag("promise-12")
class CleanupSettingsTests {

	@ParameterizedTest
	@CsvSource(delimiter = '|',
			textBlock = """
					PT0S | PT1M | 1 | PT0S  | interval of the cleanup of expired idempotency records is 0s.                  | idempotency.cleanup.interval
					PT1M | PT0S | 1 | PT0S  | time budget of the cleanup of expired idempotency records is 0s.                          | idempotency.cleanup.time-budget
					PT1M | PT1M | 0 | PT0S  | so that it would never delete a record. | idempotency.cleanup.batch-size
					PT1M | PT1M | 1 | PT-1S | pauses for -1s, but its time budget is 1m. | idempotency.cleanup.pause
					PT1M | PT1S | 1 | PT1S  | pauses for 1s, but its time budget is 1s.  | idempotency.cleanup.pause
					""")
	void invalidSettingIsRefusedWithAnAction(Duration interval, Duration timeBudget, int batchSize, Duration pause,
			String message, String property) {
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> new CleanupJob.Settings(interval, timeBudget, batchSize, pause))
			.withMessageEndingWith(message)
			.satisfies((ex) -> assertThat(ex.action()).contains("'" + property + "'"));
	}

}
