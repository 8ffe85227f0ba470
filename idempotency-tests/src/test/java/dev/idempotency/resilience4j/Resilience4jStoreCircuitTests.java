/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.resilience4j;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.concurrent.TimeUnit;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Resilience4jStoreCircuit}.
 */
@Tag("promise-11")
class Resilience4jStoreCircuitTests {

	private Instant now = Instant.EPOCH;

	private final CircuitBreaker breaker = CircuitBreaker.of("store",
			CircuitBreakerConfig.custom()
				.clock(new TestClock())
				.currentTimestampFunction(Clock::millis, TimeUnit.MILLISECONDS)
				.waitDurationInOpenState(Duration.ofSeconds(2))
				.permittedNumberOfCallsInHalfOpenState(1)
				.build());

	private final Resilience4jStoreCircuit circuit = new Resilience4jStoreCircuit(this.breaker);

	private void pass(int seconds) {
		this.now = this.now.plusSeconds(seconds);
	}

	@Test
	void halfOpenCircuitWhoseProbeNeverEndsOpensAgainAndPermitsAnotherProbe() {
		this.breaker.transitionToOpenState();
		pass(3);
		assertThat(this.circuit.tryAcquirePermission()).isTrue();
		pass(59);
		assertThat(this.circuit.tryAcquirePermission()).isFalse();
		assertThat(this.breaker.getState()).isEqualTo(CircuitBreaker.State.HALF_OPEN);
		pass(2);
		assertThat(this.circuit.tryAcquirePermission()).isFalse();
		assertThat(this.breaker.getState()).isEqualTo(CircuitBreaker.State.OPEN);
		pass(3);
		assertThat(this.circuit.tryAcquirePermission()).isTrue();
		this.circuit.onSuccess(Duration.ZERO);
		assertThat(this.breaker.getState()).isEqualTo(CircuitBreaker.State.CLOSED);
	}

	private final class TestClock extends Clock {

		@Override
		public ZoneId getZone() {
			return ZoneOffset.UTC;
		}

		@Override
		public Clock withZone(ZoneId zone) {
			return this;
		}

		@Override
		public Instant instant() {
			return Resilience4jStoreCircuitTests.this.now;
		}

	}

}
