/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.time.Duration;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import dev.idempotency.IdempotencyConfigurationException;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link OutboxRelay.Settings}.
 */
class RelaySettingsTests {

	private static OutboxRelay.Settings settings(String sendTimeout) {
		return settings(sendTimeout, 2);
	}

	private static OutboxRelay.Settings settings(String sendTimeout, int threads) {
		return new OutboxRelay.Settings(500, Duration.ofSeconds(1), Duration.parse(sendTimeout), 10,
				Duration.ofSeconds(5), Duration.ofSeconds(10), threads);
	}

	// The database ends the transaction of a round after three minutes.
	@ParameterizedTest
	@CsvSource({ "PT0.099S", "PT2M0.001S" })
	@Tag("promise-12")
	void sendTimeoutOutOfRangeIsRefused(String sendTimeout) {
		assertThatExceptionOfType(IdempotencyConfigurationException.class).isThrownBy(() -> settings(sendTimeout))
			.satisfies((ex) -> assertThat(ex.action()).contains("idempotency.outbox.send-timeout")
				.contains("100 ms to 2 minutes"));
	}

	@ParameterizedTest
	@CsvSource({ "PT0.1S", "PT2M" })
	void sendTimeoutWithinTheRangeIsAccepted(String sendTimeout) {
		assertThat(settings(sendTimeout).sendTimeout()).isEqualTo(Duration.parse(sendTimeout));
	}

	@ParameterizedTest
	@ValueSource(ints = { -1, 0, 3 })
	@Tag("promise-12")
	void otherNumberOfThreadsIsRefused(int threads) {
		assertThatExceptionOfType(IdempotencyConfigurationException.class).isThrownBy(() -> settings("PT1S", threads))
			.satisfies((ex) -> assertThat(ex.action()).isEqualTo("Set 'idempotency.outbox.threads' to 1 or 2."));
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 2 })
	void oneThreadAndTwoThreadsAreAccepted(int threads) {
		assertThat(settings("PT1S", threads).threads()).isEqualTo(threads);
	}

}
