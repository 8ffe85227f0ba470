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

import dev.idempotency.testsupport.DynamoDbServer;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for a DynamoDB server that fails under traffic and returns with all confirmed
 * writes, with the default error handler of Boot.
 */
@Execution(ExecutionMode.CONCURRENT)
@ResourceLock("outages")
@Order(2)
@Tag("storm")
@EnabledIfSystemProperty(named = "test.storm", matches = ".+", disabledReason = "Part of the profile storm")
class DynamoDbOutageTests {

	private static final Duration RESUMED = Duration.ofSeconds(30);

	private final DynamoDbServer server = DynamoDbServer.create();

	// A claim that is not released would block its
	// partition for longer than the test waits.
	private final TestApp app = TestApp.of(OutageListeners.class)
		.dynamoDb(this.server)
		.with("idempotency.lease", "10m");

	@AfterEach
	void stopServer() {
		this.server.stop();
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-3")
	@Tag("promise-11")
	void recordsAreProcessedOnceAfterTheServerWasKilled() throws InterruptedException {
		try (OutageTraffic traffic = new OutageTraffic(this.app)) {
			traffic.listeners().holdOne();
			this.server.stop();
			traffic.listeners().letGo();
			traffic.goOn(Duration.ofSeconds(3));
			this.server.start();
			assertThat(traffic.resumption("DynamoDB killed for 3 s", System.nanoTime())).isLessThan(RESUMED);
			List<String> sent = traffic.endAndRepeat();
			assertThat(traffic.effects().keys()).containsExactlyInAnyOrderElementsOf(sent);
			assertThat(traffic.listeners().lost()).isEmpty();
			assertThat(traffic.rebalances()).isZero();
		}
	}

}
