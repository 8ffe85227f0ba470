/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.time.Duration;
import java.util.Set;

import dev.idempotency.template.StoreObserver.StoreCall;

/**
 * Renewals take longer than the lease, so that another instance takes over the key of a
 * running handler. The stale owner must change nothing.
 */
final class Zombies implements Scenario {

	@Override
	public void run(World world) {
		world.faults()
			.some(60, 8, Fault.DELAY, Fault.NO_EFFECT, Fault.LATE_ANSWER, Fault.LOST_ANSWER)
			.only(Set.of(StoreCall.RENEW, StoreCall.COMPLETE, StoreCall.RELEASE, StoreCall.FAIL))
			.longestDelay(Duration.ofSeconds(4));
		world.setLease(Duration.ofSeconds(1));
		world.setLongestHandler(Duration.ofSeconds(4));
		world.setFailures(2);
		for (int i = 0; i < 2; i++) {
			Instance instance = world.instance().start();
			world.start(instance.name() + "a", () -> instance.deliver("a"));
			world.start(instance.name() + "b", () -> instance.deliver("b"));
		}
		world.join();
	}

}
