/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.time.Duration;
import java.util.List;

import dev.idempotency.store.IdempotencyRecords.Selection;

/**
 * An administrator evicts and releases keys while two cached instances process them. A
 * delivery after the answer to an eviction is no duplicate of what was evicted.
 */
final class CacheAndAdministration implements Scenario {

	private static final List<String> KEYS = List.of("a", "b");

	@Override
	public void run(World world) {
		world.faults().some(10, 4, Fault.LOST_ANSWER, Fault.NO_EFFECT, Fault.DELAY, Fault.LATE_ANSWER);
		Instance first = world.instance().cached().start();
		for (String key : KEYS) {
			for (int i = 1; i <= 2; i++) {
				world.start("consumer-" + key + i, () -> deliverTwice(world, first, key));
			}
		}
		world.start("administrator", () -> {
			for (int i = 0; i < 5; i++) {
				world.pause(Duration.ofMillis(500));
				administrate(world, first);
			}
		});
		world.join();
	}

	private static void deliverTwice(World world, Instance instance, String key) {
		instance.deliver(key);
		if (world.chance(50)) {
			world.pause(Duration.ofMillis(500));
		}
		instance.deliver(key);
	}

	private static void administrate(World world, Instance instance) {
		String key = KEYS.get(world.choose(KEYS.size()));
		switch (world.choose(4)) {
			case 0 -> instance.template().admin().release(world.key(key), world.chance(30), "administrator");
			case 1 -> instance.evictAll(KEYS, new Selection("s", "", null, null));
			default -> instance.evict(key);
		}
	}

}
