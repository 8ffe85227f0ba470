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
 * The store evicts records while their handlers run, and an administrator evicts
 * completed ones. A restored claim must not outlive its handler, so that no key is in
 * progress at the end.
 */
final class Evictions implements Scenario {

	@Override
	public void run(World world) {
		world.faults()
			.some(40, 5, Fault.EVICTION, Fault.DELAY, Fault.DELAY, Fault.LATE_ANSWER)
			.only(Set.of(StoreCall.RENEW, StoreCall.COMPLETE, StoreCall.FAIL))
			.longestDelay(Duration.ofSeconds(2));
		world.setLease(Duration.ofSeconds(3));
		world.setLongestHandler(Duration.ofSeconds(3));
		world.setFailures(1);
		Instance first = world.instance().start();
		Instance second = world.instance().start();
		world.start("first", () -> deliverAndEvict(world, first, "a"));
		world.start("same", () -> deliverAndEvict(world, first, "b"));
		world.start("second", () -> {
			world.pause(Duration.ofSeconds(2));
			second.deliver("a");
		});
		world.join();
	}

	private static void deliverAndEvict(World world, Instance instance, String key) {
		instance.deliver(key);
		if (world.chance(50)) {
			world.pause(Duration.ofMillis(300));
		}
		instance.evict(key);
	}

}
