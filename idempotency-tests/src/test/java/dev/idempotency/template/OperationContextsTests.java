/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import dev.idempotency.Mode;
import dev.idempotency.memory.InMemoryIdempotencyStore;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.OperationObserver.HandledOperation;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link OperationContexts}.
 */
class OperationContextsTests {

	private final List<String> events = new CopyOnWriteArrayList<>();

	private final IdempotentOperation operation = TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED);

	private final InMemoryIdempotencyStore store = new InMemoryIdempotencyStore();

	private final IdempotencyTemplate template = new IdempotencyTemplate(this.store,
			new Settings(null, null, false, StoreCircuit.ALWAYS_CLOSED, CompletionCache.NONE, Observers.none(),
					List.of(new Context("first"), new ThrowingContext(), new SilentContext(), new Context("last")),
					IdempotencyTemplate.Settings.DEFAULT_MAXIMUM_RESULT_SIZE, null, OperationSpec.Defaults.STANDARD));

	@AfterEach
	void close() {
		this.template.close();
	}

	@Test
	void everyContextIsCalledWhenAnotherThrows() {
		this.template.execute(this.operation, ResultCodec.none(), () -> this.events.add("handler"));
		assertThat(this.events).containsExactly("first begins", "last begins", "handler", "first ended PROCESSED 1",
				"last ended PROCESSED 1", "last closed", "first closed");
	}

	@Test
	void executionAfterAFailureEndsWithItsAttempt() {
		one(this.store).release(claimed());
		assertThatIllegalStateException()
			.isThrownBy(() -> this.template.execute(this.operation, ResultCodec.none(), () -> {
				throw new IllegalStateException("fails");
			}));
		this.events.clear();
		this.template.execute(this.operation, ResultCodec.none(), () -> null);
		assertThat(this.events).contains("first ended PROCESSED 2");
	}

	@Test
	void duplicateHasNoAttempt() {
		one(this.store).complete(claimed(), null);
		this.template.execute(this.operation, ResultCodec.none(), () -> null);
		assertThat(this.events).contains("first ended DUPLICATE 0");
	}

	@Test
	void asynchronousOperationEndsBeforeItsFutureCompletes() {
		CompletableFuture<String> handler = new CompletableFuture<>();
		CompletableFuture<?> answer = this.template.executeAsync(this.operation, ResultCodec.none(), () -> handler)
			.thenRun(() -> this.events.add("answered"));
		assertThat(this.events).containsExactly("first begins", "last begins", "last closed", "first closed");
		handler.complete("done");
		answer.join();
		assertThat(this.events).endsWith("first ended PROCESSED 1", "last ended PROCESSED 1", "answered");
	}

	@Test
	void batchHasOneContext() {
		this.template.executeAll(List.of(new BatchItem(this.operation, "lane"), new BatchItem(null, "lane")),
				ResultCodec.none(), (due) -> {
					this.events.add("handler");
					return null;
				});
		assertThat(this.events).containsExactly("first begins batch", "last begins batch", "handler", "last closed",
				"first closed");
	}

	private ClaimRequest claimed() {
		ClaimRequest request = this.operation.newRequest();
		one(this.store).claim(request);
		return request;
	}

	private final class Context implements OperationContext {

		private final String name;

		Context(String name) {
			this.name = name;
		}

		@Override
		public OpenContext begin(IdempotentOperation begun) {
			return scope("begins");
		}

		@Override
		public OpenContext beginBatch(String scope) {
			return scope("begins batch");
		}

		private OpenContext scope(String event) {
			add(event);
			return new OpenContext() {

				@Override
				public void close() {
					add("closed");
				}

				@Override
				public void ended(HandledOperation execution) {
					add("ended " + execution.outcome() + " " + execution.attempt());
				}

			};
		}

		private void add(String event) {
			OperationContextsTests.this.events.add(this.name + " " + event);
		}

	}

	private static final class ThrowingContext implements OperationContext {

		private boolean begun;

		@Override
		public OpenContext begin(IdempotentOperation operation) {
			this.begun = !this.begun;
			if (this.begun) {
				throw new IllegalStateException("context");
			}
			return () -> {
				throw new IllegalStateException("context");
			};
		}

	}

	private static final class SilentContext implements OperationContext {

		@Override
		public OpenContext begin(IdempotentOperation operation) {
			return null;
		}

	}

}
