/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;

import dev.idempotency.resilience4j.Resilience4jStoreCircuit;
import dev.idempotency.template.ClaimAhead;

/**
 * The circuit breaker opens, and its few permissions are used by claims, by claims ahead
 * and by retries of pending settlements. Each permission is returned: when the store is
 * healthy, the keys are processed soon.
 */
final class HalfOpenCircuit implements Scenario {

	@Override
	public void run(World world) {
		CircuitBreaker breaker = CircuitBreaker.of("store",
				CircuitBreakerConfig.custom()
					.clock(new VirtualClock())
					.slidingWindowSize(4)
					.minimumNumberOfCalls(2)
					.failureRateThreshold(50)
					.waitDurationInOpenState(Duration.ofSeconds(2))
					.permittedNumberOfCallsInHalfOpenState(1 + world.choose(3))
					.build());
		world.faults()
			.some(40, 10, Fault.DELAY, Fault.LATE_ANSWER, Fault.NO_EFFECT, Fault.REFUSAL, Fault.CONTENTION,
					Fault.LATE_ERROR)
			.longestDelay(Duration.ofSeconds(3));
		world.setFailures(1);
		Instance instance = world.instance().circuit(new Resilience4jStoreCircuit(breaker)).start();
		world.start("a1", () -> instance.deliver("a"));
		world.start("a2", () -> instance.deliver("a"));
		world.start("b", () -> instance.deliver("b"));
		world.start("ahead", () -> {
			ClaimAhead ahead = instance.template().claimAhead(() -> instance.operation("d"));
			ahead.begin();
			instance.deliver("c", ahead);
			ahead.begin();
			instance.deliver("d", ahead);
			ahead.release();
		});
		world.start("outage", () -> {
			world.pause(Duration.ofMillis(100));
			world.faults().setOutage(true);
			world.pause(Duration.ofSeconds(6));
			world.faults().setOutage(false);
		});
		world.join();
	}

	private static final class VirtualClock extends Clock {

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
			return Instant.ofEpochMilli(System.currentTimeMillis());
		}

	}

}
