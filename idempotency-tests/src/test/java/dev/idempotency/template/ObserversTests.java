/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.util.List;

import org.junit.jupiter.api.Test;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.OperationObserver.HandledOperation;
import dev.idempotency.template.OperationObserver.Intervention;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.template.StoreObserver.StoreOutcome;
import dev.idempotency.testsupport.RecordingObserver;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Observers}.
 */
class ObserversTests {

	private static final HandledOperation EXECUTION = new HandledOperation("payments", Mode.LEASED, null,
			Outcome.PROCESSED, Duration.ofMillis(3));

	private final RecordingObserver first = new RecordingObserver();

	private final RecordingObserver last = new RecordingObserver();

	private final ThrowingObserver throwing = new ThrowingObserver();

	private final Observers observers = new Observers(List.of(this.first, this.throwing, this.last),
			List.of(this.first, this.throwing, this.last));

	@Test
	void everyObserverIsNotifiedOfAnExecution() {
		this.observers.operation((observer) -> observer.handled(EXECUTION));
		assertThat(this.first.executions()).containsExactly(EXECUTION);
		assertThat(this.last.executions()).containsExactly(EXECUTION);
	}

	@Test
	void everyObserverIsNotifiedOfAStoreCall() {
		this.observers.store(
				(observer) -> observer.storeCalled("jdbc", StoreCall.CLAIM, StoreOutcome.UNAVAILABLE, Duration.ZERO));
		assertThat(this.first.storeCalls()).containsExactly("jdbc CLAIM unavailable");
		assertThat(this.last.storeCalls()).containsExactly("jdbc CLAIM unavailable");
	}

	@Test
	void everyObserverIsNotifiedOfACompletion() {
		IdempotencyKey key = IdempotencyKey.of("scope", "key");
		this.observers.operation((observer) -> observer.completionFailed("payments", key));
		this.observers.operation((observer) -> observer.completionSettled("payments", key, Settlement.LOST));
		this.observers.operation((observer) -> observer.resultNotStored("payments", key));
		assertThat(this.first.completions()).containsExactly("failed key", "LOST key", "without result key");
		assertThat(this.last.completions()).isEqualTo(this.first.completions());
	}

	@Test
	void everyObserverIsNotifiedOfAnIntervention() {
		this.observers.operation((observer) -> observer.intervened(Intervention.EVICT, true, ""));
		assertThat(this.first.interventions()).containsExactly("EVICT done");
		assertThat(this.last.interventions()).containsExactly("EVICT done");
	}

	private static final class ThrowingObserver implements OperationObserver, StoreObserver {

		@Override
		public void handled(HandledOperation execution) {
			throw new IllegalStateException("observer");
		}

		@Override
		public void completionFailed(String listener, IdempotencyKey key) {
			throw new IllegalStateException("observer");
		}

		@Override
		public void completionSettled(String listener, IdempotencyKey key, Settlement settlement) {
			throw new IllegalStateException("observer");
		}

		@Override
		public void resultNotStored(String listener, IdempotencyKey key) {
			throw new IllegalStateException("observer");
		}

		@Override
		public void intervened(Intervention intervention, boolean done, String description) {
			throw new IllegalStateException("observer");
		}

		@Override
		public void storeCalled(String store, StoreCall call, StoreOutcome outcome, Duration duration) {
			throw new IllegalStateException("observer");
		}

	}

}
