/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.time.Duration;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.OperationBlockedException;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.IdempotentResult;
import dev.idempotency.template.PendingCompletion;
import dev.idempotency.template.TransactionBoundary;

/**
 * Completions wait for the transaction of the caller, or for an acknowledgment that
 * another thread gives. The next delivery of a key waits for them, and each reports its
 * outcome once.
 */
final class DeferredCompletions implements Scenario {

	@Override
	public void run(World world) {
		world.faults().some(15, 4, Fault.LOST_ANSWER, Fault.NO_EFFECT, Fault.DELAY, Fault.REFUSAL, Fault.LATE_ERROR);
		// The keys of an abandoned completion are free when their leases have expired.
		world.setLease(Duration.ofSeconds(10));
		Instance first = world.instance().start();
		Instance second = world.instance().start();
		ConcurrentLinkedQueue<Acknowledgment> waiting = new ConcurrentLinkedQueue<>();
		world.start("transaction-a", () -> inTransaction(world, first, "a"));
		world.start("record-a", () -> first.deliver("a"));
		world.start("deferred-b", () -> deferred(world, first, "b", waiting));
		world.start("other-b", () -> second.deliver("b"));
		world.start("acknowledger", () -> acknowledge(world, waiting));
		world.join();
	}

	private static void inTransaction(World world, Instance instance, String key) {
		TransactionTemplate transaction = new TransactionTemplate(new PlainTransactions());
		IdempotentOperation operation = instance.operation(key);
		for (int i = 0; i < 3; i++) {
			try {
				transaction.executeWithoutResult((status) -> {
					IdempotentResult<String> result = instance.template()
						.execute(operation, new TextCodec(), () -> instance.handle(operation.key()));
					if (!result.duplicate() && world.chance(40)) {
						world.history().undone(operation.key());
						status.setRollbackOnly();
					}
				});
			}
			catch (OperationBlockedException ex) {
				world.pause(Duration.ofSeconds(1));
			}
		}
	}

	private static void deferred(World world, Instance instance, String key,
			ConcurrentLinkedQueue<Acknowledgment> waiting) {
		IdempotentOperation operation = instance.operation(key);
		for (int i = 0; i < 3; i++) {
			try {
				instance.template()
					.execute(operation, new TextCodec(),
							TransactionBoundary
								.deferred((completion) -> waiting.add(new Acknowledgment(completion, operation))),
							null, () -> instance.handle(operation.key()));
			}
			catch (OperationBlockedException ex) {
				world.pause(Duration.ofSeconds(1));
			}
		}
		waiting.add(new Acknowledgment(null, operation));
	}

	private static void acknowledge(World world, ConcurrentLinkedQueue<Acknowledgment> waiting) {
		while (true) {
			Acknowledgment next = waiting.poll();
			if (next == null) {
				world.pause(Duration.ofMillis(200));
			}
			else if (next.completion() == null) {
				return;
			}
			else if (world.chance(60)) {
				next.completion().complete();
			}
			else {
				world.history().undone(next.operation().key());
				if (world.chance(30)) {
					next.completion().abandon();
				}
				next.completion().release();
			}
		}
	}

	private record Acknowledgment(PendingCompletion completion, IdempotentOperation operation) {

	}

}
