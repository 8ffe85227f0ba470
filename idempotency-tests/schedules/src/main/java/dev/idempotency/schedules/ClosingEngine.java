/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.time.Duration;

import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.OperationBlockedException;
import dev.idempotency.template.ClaimAhead;
import dev.idempotency.template.IdempotentOperation;

/**
 * The engine is closed while asynchronous handlers and transactions end, and while
 * completions are pending. Each effect is recorded, or the log names its key.
 */
final class ClosingEngine implements Scenario {

	// The settlements and the retries each have ten seconds, and a call may be slow. Time
	// also passes while the scheduler runs other threads.
	private static final Duration LONGEST = Duration.ofSeconds(45);

	@Override
	public void run(World world) {
		world.faults()
			.some(20, 4, Fault.LOST_ANSWER, Fault.NO_EFFECT, Fault.DELAY, Fault.REFUSAL, Fault.LATE_ERROR)
			.longestDelay(Duration.ofSeconds(2));
		world.setLease(Duration.ofSeconds(60));
		Instance instance = world.instance().start();
		world.start("asynchronous-a", () -> startOnce(world, instance, "a"));
		world.start("asynchronous-b", () -> startOnce(world, instance, "b"));
		world.start("transaction-c", () -> inTransaction(world, instance, "c"));
		world.start("ahead-d", () -> claimAhead(world, instance));
		world.start("closer", () -> {
			world.pause(Duration.ofMillis(300));
			long start = System.nanoTime();
			world.history().note("close() begins");
			instance.close();
			world.history().note("close() has returned");
			if (System.nanoTime() - start > LONGEST.toNanos()) {
				world.violation("close() took " + Duration.ofNanos(System.nanoTime() - start));
			}
		});
		world.join();
		instance.remaining()
			.stream()
			.filter((remaining) -> remaining.startsWith("claimsAhead"))
			.forEach((remaining) -> world.violation("After close(), " + remaining));
	}

	private static void startOnce(World world, Instance instance, String key) {
		try {
			AsynchronousResults.start(world, instance, key);
		}
		catch (OperationBlockedException ex) {
			world.history().note(key + " is blocked");
		}
	}

	private static void inTransaction(World world, Instance instance, String key) {
		IdempotentOperation operation = instance.operation(key);
		try {
			new TransactionTemplate(new PlainTransactions()).executeWithoutResult((status) -> instance.template()
				.execute(operation, new TextCodec(), () -> instance.handle(operation.key())));
		}
		catch (OperationBlockedException ex) {
			world.history().note(key + " is blocked");
		}
	}

	private static void claimAhead(World world, Instance instance) {
		ClaimAhead ahead = instance.template().claimAhead(() -> instance.operation("e"));
		ahead.begin();
		instance.deliverOnce("d", ahead);
		ahead.end();
		// A consumer that is stuck releases nothing.
		if (world.chance(50)) {
			ahead.release();
		}
	}

}
