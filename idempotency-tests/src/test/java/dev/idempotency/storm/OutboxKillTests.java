/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.util.Random;

import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.parallel.ResourceLock;

import dev.idempotency.test.kill.KillHarness;

/**
 * Tests for an outbox whose processes and broker are killed under load. In each build,
 * {@code PipelineTests} kills and freezes the broker and ends the sessions of relays, and
 * {@code CrashTests} kills a process whose relay publishes.
 */
@Tag("storm")
@EnabledIfSystemProperty(named = "test.storm", matches = ".+", disabledReason = "Part of the profile storm")
@ResourceLock("storms")
@Tag("promise-1")
@Tag("promise-5")
@Order(1)
class OutboxKillTests {

	private static final int ROUNDS = Integer.getInteger("test.kill.rounds", 2);

	private final long seed = Long.getLong(KillHarness.SEED_PROPERTY, new Random().nextInt(Integer.MAX_VALUE));

	@Test
	void everyChargeIsPublishedAndAppliedOnceInOrder() throws Exception {
		try (OutboxKills kills = new OutboxKills(this.seed)) {
			System.out.println("Outbox, seed " + this.seed + ": " + kills.run(ROUNDS));
		}
	}

}
