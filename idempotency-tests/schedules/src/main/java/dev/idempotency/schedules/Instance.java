/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.IdempotencyRecords.Change;
import dev.idempotency.store.IdempotencyRecords.Selection;
import dev.idempotency.template.ClaimAhead;
import dev.idempotency.template.CompletionCache;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.IdempotentResult;
import dev.idempotency.template.Observers;
import dev.idempotency.template.OperationObserver;
import dev.idempotency.template.OperationSpec;
import dev.idempotency.template.StoreCircuit;
import dev.idempotency.template.TransactionBoundary;

/**
 * A process with its own engine, whose threads deliver records as a container does: a
 * blocked record is redelivered after a while.
 */
final class Instance implements OperationObserver {

	private static final int MANY_ATTEMPTS = 10;

	// Longer than the wait of the circuit breaker and a slow call.
	private static final Duration RECOVERY = Duration.ofSeconds(30);

	private static final Duration LONGEST_PAUSE = Duration.ofSeconds(2);

	private final World world;

	private final String name;

	private StoreCircuit circuit = StoreCircuit.ALWAYS_CLOSED;

	private CompletionCache cache = CompletionCache.NONE;

	private IdempotencyTemplate template;

	private boolean open = true;

	Instance(World world, String name) {
		this.world = world;
		this.name = name;
	}

	Instance circuit(StoreCircuit circuit) {
		this.circuit = circuit;
		return this;
	}

	Instance cached() {
		this.cache = new SimpleCache();
		return this;
	}

	Instance start() {
		UnreliableStore store = new UnreliableStore(this.world.store(), this.world.history(), this.world.faults(),
				this.name);
		this.template = new IdempotencyTemplate(store, new IdempotencyTemplate.Settings(this.name, null, false,
				this.circuit, this.cache, new Observers(List.of(this), List.of()), List.of(),
				IdempotencyTemplate.Settings.DEFAULT_MAXIMUM_RESULT_SIZE, null, OperationSpec.Defaults.STANDARD));
		this.world.add(this);
		return this;
	}

	String name() {
		return this.name;
	}

	IdempotencyTemplate template() {
		return this.template;
	}

	boolean hasNoCircuit() {
		return this.circuit == StoreCircuit.ALWAYS_CLOSED;
	}

	boolean isOpen() {
		return this.open;
	}

	void close() {
		this.open = false;
		this.template.close();
	}

	List<String> remaining() {
		return EngineState.remaining(this.template);
	}

	@Override
	public void handled(HandledOperation operation) {
		if (operation.outcome() == Outcome.PROCESSED) {
			this.world.history().reportedProcessed(operation.key());
		}
	}

	IdempotentOperation operation(String key) {
		return new IdempotentOperation(this.world.key(key), "listener", "record " + key, Mode.LEASED, null,
				this.world.lease(), Duration.ofDays(1), null, null);
	}

	String handle(IdempotencyKey key) {
		return handle(key, IdempotentExecution.current().fence());
	}

	String handle(IdempotencyKey key, int fence) {
		Execution execution = begin(key, fence);
		if (this.world.chance(50)) {
			this.world.pause(this.world.longestHandler());
		}
		else {
			Thread.yield();
		}
		boolean fails = this.world.nextFails();
		this.world.history().ended(key, execution, !fails);
		if (fails) {
			throw new HandlerFailedException();
		}
		return execution.result();
	}

	Execution begin(IdempotencyKey key, int fence) {
		return this.world.history().started(this.name, key, fence);
	}

	// Begin an asynchronous handler on this thread, which another thread ends.
	CompletableFuture<String> handleAsync(IdempotencyKey key, Consumer<Runnable> onEnd) {
		Execution execution = begin(key, IdempotentExecution.current().fence());
		CompletableFuture<String> result = new CompletableFuture<>();
		onEnd.accept(() -> {
			boolean fails = this.world.nextFails();
			this.world.history().ended(key, execution, !fails);
			if (fails) {
				result.completeExceptionally(new HandlerFailedException());
			}
			else {
				result.complete(execution.result());
			}
		});
		return result;
	}

	void deliver(String key) {
		deliver(key, null);
	}

	void deliver(String key, ClaimAhead ahead) {
		IdempotentOperation operation = operation(key);
		redeliver(key, () -> this.template.execute(operation, new TextCodec(), TransactionBoundary.DEFAULT, ahead,
				() -> handle(operation.key())));
	}

	void deliverOnce(String key, ClaimAhead ahead) {
		IdempotentOperation operation = operation(key);
		deliverOnce(key, () -> this.template.execute(operation, new TextCodec(), TransactionBoundary.DEFAULT, ahead,
				() -> handle(operation.key())));
	}

	void evict(String key) {
		IdempotencyKey id = this.world.key(key);
		if (this.template.admin().evict(id, false, "administrator") == Change.DONE) {
			this.world.history().evictionAnswered(this.name, id);
		}
	}

	void evictAll(List<String> values, Selection selection) {
		List<IdempotencyKey> ids = values.stream().map(this.world::key).toList();
		int begin = this.world.history().now();
		this.template.admin().evictAll(selection, false, 100, null, "administrator");
		ids.stream()
			.filter((id) -> this.world.history().isForgottenSince(id, begin))
			.forEach((id) -> this.world.history().evictionAnswered(this.name, id));
	}

	void redeliver(String key, Supplier<IdempotentResult<String>> delivery) {
		long start = System.nanoTime();
		int attempts = 0;
		while (!deliverOnce(key, delivery)) {
			// The scheduler may not have run this thread for a long time.
			attempts++;
			if (attempts > MANY_ATTEMPTS && this.world.isStuck(start)) {
				this.world.violation(key + " is still blocked in " + this.name + ", although the store is healthy");
				return;
			}
			this.world.pause(LONGEST_PAUSE);
		}
	}

	private boolean deliverOnce(String key, Supplier<IdempotentResult<String>> delivery) {
		int begin = this.world.history().now();
		try {
			IdempotentResult<String> result = this.world.deliver(delivery);
			acknowledged(key, begin, result);
			return true;
		}
		catch (OperationBlockedException | HandlerFailedException ex) {
			return false;
		}
	}

	void acknowledged(String key, int begin, IdempotentResult<String> result) {
		IdempotencyKey id = this.world.key(key);
		if (result.duplicate()) {
			this.world.history().duplicate(this.name, id, begin, result.result());
		}
		else {
			this.world.history().processed(id, begin);
		}
	}

	// The circuit breaker must have all its permissions, and no key a forgotten claim.
	void deliverLast(String key) {
		IdempotentOperation operation = operation(key);
		long start = System.nanoTime();
		while (!deliverOnce(key,
				() -> this.template.execute(operation, new TextCodec(), () -> handle(operation.key())))) {
			if (System.nanoTime() - start > RECOVERY.toNanos()) {
				this.world.violation(key + " is blocked in " + this.name + ", although the store is healthy");
				return;
			}
			World.sleep(Duration.ofMillis(200));
		}
	}

}
