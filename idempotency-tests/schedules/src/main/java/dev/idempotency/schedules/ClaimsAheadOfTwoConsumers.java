/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;

import dev.idempotency.template.ClaimAhead;

/**
 * Two consumers claim the keys of their next records ahead, lose their partitions, and
 * receive records that they did not expect. A claim ahead is used once, for its record
 * only, and none is left.
 */
final class ClaimsAheadOfTwoConsumers implements Scenario {

	private static final List<String> RECORDS = List.of("a", "b", "c", "d");

	@Override
	public void run(World world) {
		world.faults()
			.some(10, 4, Fault.LOST_ANSWER, Fault.NO_EFFECT, Fault.DELAY, Fault.LATE_ANSWER, Fault.REFUSAL,
					Fault.LATE_ERROR);
		world.setFailures(1);
		Instance first = world.instance().cached().start();
		Instance second = world.instance().start();
		world.start("consumer-1", () -> consume(world, first));
		world.start("consumer-2", () -> consume(world, first));
		world.start("consumer-3", () -> consume(world, second));
		world.start("administrator", () -> evict(world, first));
		world.join();
	}

	private static void consume(World world, Instance instance) {
		Queue<String> polled = new ArrayDeque<>(RECORDS);
		if (world.chance(30)) {
			polled.remove();
		}
		ClaimAhead ahead = instance.template()
			.claimAhead(() -> polled.isEmpty() ? null : instance.operation(polled.peek()));
		while (!polled.isEmpty()) {
			String next = polled.remove();
			if (world.chance(10)) {
				ahead.release();
			}
			if (world.chance(10)) {
				world.pause(Duration.ofSeconds(3));
			}
			ahead.begin();
			instance.deliver(next, ahead);
			ahead.end();
			if (world.chance(10)) {
				polled.poll();
			}
		}
		ahead.release();
	}

	private static void evict(World world, Instance instance) {
		for (int i = 0; i < 2; i++) {
			world.pause(Duration.ofSeconds(1));
			instance.evict(RECORDS.get(world.choose(RECORDS.size())));
		}
	}

}
