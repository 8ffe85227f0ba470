/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceLock;

import dev.idempotency.testsupport.RedisProcess;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for a Redis server that fails under traffic and returns with all confirmed
 * writes, with the default error handler of Boot.
 */
@Execution(ExecutionMode.CONCURRENT)
@ResourceLock("outages")
@Order(2)
class RedisOutageTests {

	private static final Duration RESUMED = Duration.ofSeconds(30);

	private final RedisProcess server = RedisProcess.durable();

	// A claim that is not released would block its
	// partition for longer than the test waits.
	private final TestApp app = TestApp.of(OutageListeners.class).redis(this.server).with("idempotency.lease", "10m");

	@AfterEach
	void stopServer() {
		this.server.stop();
	}

	// A frozen server fails the same calls, and later ones than a killed server.
	@Test
	@Tag("promise-1")
	@Tag("promise-3")
	@Tag("promise-11")
	@Tag("storm")
	@EnabledIfSystemProperty(named = "test.storm", matches = ".+", disabledReason = "Part of the profile storm")
	void recordsAreProcessedOnceAfterTheServerWasKilled() throws InterruptedException {
		try (OutageTraffic traffic = new OutageTraffic(this.app)) {
			traffic.listeners().holdOne();
			this.server.stop();
			traffic.listeners().letGo();
			traffic.goOn(Duration.ofSeconds(10));
			this.server.start();
			check(traffic, "Redis killed for 10 s");
		}
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-3")
	@Tag("promise-11")
	void recordsAreProcessedOnceAfterTheServerWasFrozen() throws InterruptedException {
		try (OutageTraffic traffic = new OutageTraffic(this.app)) {
			traffic.listeners().holdOne();
			this.server.freeze();
			traffic.listeners().letGo();
			traffic.goOn(Duration.ofSeconds(8));
			this.server.resume();
			check(traffic, "Redis frozen for 8 s");
		}
	}

	private static void check(OutageTraffic traffic, String outage) throws InterruptedException {
		assertThat(traffic.resumption(outage, System.nanoTime())).isLessThan(RESUMED);
		List<String> sent = traffic.endAndRepeat();
		assertThat(traffic.effects().keys()).containsExactlyInAnyOrderElementsOf(sent);
		assertThat(traffic.listeners().lost()).isEmpty();
		assertThat(traffic.rebalances()).isZero();
	}

	@Test
	@Tag("promise-2")
	@Tag("promise-6")
	void leaseThatExpiresWhileTheServerIsFrozenIsKeptOrItsOwnerIsNotified() throws InterruptedException {
		this.app.with("idempotency.lease", "2s").with("concurrency", OutageTraffic.PARTITIONS);
		try (OutageTraffic traffic = new OutageTraffic(this.app)) {
			String held = traffic.listeners().holdOne();
			traffic.send(1, held);
			this.server.freeze();
			traffic.goOn(Duration.ofSeconds(5));
			this.server.resume();
			long back = System.nanoTime();
			await().atMost(RESUMED).until(() -> traffic.effects().since(2, back).findAny().isPresent());
			traffic.listeners().letGo();
			List<String> sent = traffic.endAndRepeat();
			assertThat(traffic.effects().keys()).containsAll(sent);
			assertThat(traffic.effects().afterCompletion()).isEmpty();
			// The first command after the recovery decides who owns the key: the renewal
			// or the claim of a copy.
			assertThat(traffic.effects().keys()).hasSize(sent.size() + traffic.listeners().lost().size());
			assertThat(traffic.effects().timesOf(held)).hasSize(1 + traffic.listeners().lost().size());
			assertThat(traffic.rebalances()).isZero();
		}
	}

}
