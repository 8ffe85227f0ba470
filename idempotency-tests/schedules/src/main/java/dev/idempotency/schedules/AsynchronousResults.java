/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.IdempotentResult;

/**
 * Asynchronous handlers end on other threads, and one is cancelled. Each result is
 * delivered once the store is healthy, and not before its completion is recorded.
 */
final class AsynchronousResults implements Scenario {

	private static final Duration LONGEST = Duration.ofMinutes(5);

	@Override
	public void run(World world) {
		world.faults()
			.some(20, 5, Fault.LOST_ANSWER, Fault.NO_EFFECT, Fault.DELAY, Fault.REFUSAL, Fault.CONTENTION, Fault.ERROR,
					Fault.LATE_ERROR);
		world.setFailures(1);
		Instance first = world.instance().start();
		Instance second = world.instance().start();
		world.start("first-a", () -> deliver(world, first, "a"));
		world.start("first-b", () -> deliver(world, first, "b"));
		world.start("second-a", () -> deliver(world, second, "a"));
		world.start("second-b", () -> deliverUntilCompleted(world, second, "b"));
		world.join();
	}

	static void deliver(World world, Instance instance, String key) {
		for (int i = 0; i < 100; i++) {
			int begin = world.history().now();
			try {
				CompletableFuture<IdempotentResult<String>> future = start(world, instance, key);
				instance.acknowledged(key, begin, await(future));
				return;
			}
			catch (OperationBlockedException | HandlerFailedException ex) {
				world.pause(Duration.ofSeconds(2));
			}
		}
		world.violation(key + " is still blocked");
	}

	private static void deliverUntilCompleted(World world, Instance instance, String key) {
		IdempotentOperation operation = instance.operation(key);
		for (int i = 0; i < 100; i++) {
			int begin = world.history().now();
			try {
				instance.acknowledged(key, begin,
						await(instance.template()
							.executeAsyncUntilCompleted(operation, new TextCodec(),
									() -> handle(world, instance, operation.key()))));
				return;
			}
			catch (OperationBlockedException | HandlerFailedException ex) {
				world.pause(Duration.ofSeconds(2));
			}
		}
		world.violation(key + " is still blocked");
	}

	static CompletableFuture<IdempotentResult<String>> start(World world, Instance instance, String key) {
		IdempotentOperation operation = instance.operation(key);
		return instance.template()
			.executeAsync(operation, new TextCodec(), () -> handle(world, instance, operation.key()));
	}

	private static CompletableFuture<String> handle(World world, Instance instance, IdempotencyKey key) {
		return instance.handleAsync(key, (end) -> world.start("end-" + key.value(), () -> {
			if (world.chance(50)) {
				world.pause(Duration.ofMillis(500));
			}
			end.run();
		}));
	}

	private static IdempotentResult<String> await(CompletableFuture<IdempotentResult<String>> future) {
		try {
			return future.get(LONGEST.toSeconds(), TimeUnit.SECONDS);
		}
		catch (ExecutionException ex) {
			if (ex.getCause() instanceof RuntimeException cause) {
				throw cause;
			}
			throw new IllegalStateException(ex);
		}
		catch (InterruptedException | TimeoutException ex) {
			throw new IllegalStateException(ex);
		}
	}

}
