/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.util.List;

/**
 * Two instances process the same keys, and answers of the store are lost. Only one of
 * them may run a key, and a completed key stays completed.
 */
final class TwoOwners implements Scenario {

	private static final List<String> KEYS = List.of("a", "b");

	@Override
	public void run(World world) {
		world.faults()
			.some(20, 6, Fault.LOST_ANSWER, Fault.LOST_ANSWER, Fault.NO_EFFECT, Fault.DELAY, Fault.REFUSAL,
					Fault.CONTENTION, Fault.ERROR, Fault.LATE_ERROR);
		world.setFailures(2);
		for (int i = 0; i < 2; i++) {
			Instance instance = world.instance().start();
			for (String key : KEYS) {
				world.start(instance.name() + key, () -> instance.deliver(key));
			}
		}
		world.join();
	}

}
