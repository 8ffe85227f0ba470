/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

import dev.idempotency.IdempotentExecution;
import dev.idempotency.template.BatchHandler;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.IdempotentResult;
import dev.idempotency.template.StoreObserver.StoreCall;

/**
 * Two instances process batches, and other threads process single records with the same
 * keys. A batch fails at one item, or the store refuses one key. Releases have no faults,
 * because those after a refusal are not retried.
 */
final class BatchesBesideRecords implements Scenario {

	@Override
	public void run(World world) {
		world.faults()
			.some(20, 5, Fault.LOST_ANSWER, Fault.NO_EFFECT, Fault.DELAY, Fault.REFUSAL, Fault.CONTENTION,
					Fault.LATE_ERROR)
			.only(Set.of(StoreCall.CLAIM, StoreCall.COMPLETE, StoreCall.FAIL));
		world.setFailures(2);
		world.history().allowMissingResults();
		Instance first = world.instance().start();
		Instance second = world.instance().start();
		world.start("batch-1", () -> deliverAll(world, first, List.of("a", "b", "c")));
		world.start("record-b", () -> first.deliver("b"));
		world.start("batch-2", () -> deliverAll(world, second, List.of("c", "a", "d")));
		world.start("record-d", () -> second.deliver("d"));
		world.join();
	}

	private static void deliverAll(World world, Instance instance, List<String> records) {
		Set<String> waiting = new LinkedHashSet<>(records);
		long start = System.nanoTime();
		while (true) {
			deliver(world, instance, waiting);
			if (waiting.isEmpty()) {
				return;
			}
			if (world.isStuck(start)) {
				world.violation("The records " + waiting + " of a batch are still blocked");
				return;
			}
			world.pause(Duration.ofSeconds(2));
		}
	}

	private static void deliver(World world, Instance instance, Set<String> waiting) {
		List<String> keys = List.copyOf(waiting);
		int begin = world.history().now();
		List<BatchItem> items = keys.stream()
			.map((key) -> new BatchItem(instance.operation(key), "partition of " + key))
			.toList();
		BatchResult<String> batch = world
			.deliver(() -> instance.template().executeAll(items, new TextCodec(), new Handler(instance, keys)));
		for (int i = 0; i < keys.size(); i++) {
			IdempotentResult<String> result = batch.results().get(i);
			if (result != null) {
				instance.acknowledged(keys.get(i), begin, result);
				waiting.remove(keys.get(i));
			}
		}
	}

	private static final class Handler implements BatchHandler<String> {

		private final Instance instance;

		private final List<String> keys;

		private int position;

		private Handler(Instance instance, List<String> keys) {
			this.instance = instance;
			this.keys = keys;
		}

		@Override
		public List<String> handle(List<Integer> due) {
			List<String> results = new ArrayList<>();
			List<IdempotentExecution> executions = IdempotentExecution.currentBatch();
			for (this.position = 0; this.position < due.size(); this.position++) {
				results.add(this.instance.handle(this.instance.operation(this.keys.get(due.get(this.position))).key(),
						Objects.requireNonNull(executions.get(this.position)).fence()));
			}
			return results;
		}

		@Override
		public int failedAt(Throwable error) {
			return this.position;
		}

	}

}
