/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.resilience4j;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;

import dev.idempotency.template.StoreCircuit;

/**
 * A {@link StoreCircuit} on a Resilience4j circuit breaker. It compares the state after
 * each call instead of listening to events, because a breaker with a listener creates an
 * event for each call.
 *
 * @since 0.1.0
 */
public final class Resilience4jStoreCircuit implements StoreCircuit {

	// Longer than a call of the store.
	private static final Duration LONGEST_PROBE = Duration.ofMinutes(1);

	private final CircuitBreaker breaker;

	private final List<Consumer<State>> consumers = new CopyOnWriteArrayList<>();

	private volatile State reported = State.CLOSED;

	private volatile long reportedAt;

	public Resilience4jStoreCircuit(CircuitBreaker breaker) {
		this.breaker = breaker;
	}

	@Override
	public boolean tryAcquirePermission() {
		boolean permitted = this.breaker.tryAcquirePermission();
		reportChange();
		if (!permitted && this.reported == State.HALF_OPEN && this.breaker.getCurrentTimestamp()
				- this.reportedAt > this.breaker.getTimestampUnit().convert(LONGEST_PROBE)) {
			// A probe has not ended, for example because its thread
			// was killed. After the wait in this state, another one is sent.
			this.breaker.transitionToOpenState();
			reportChange();
		}
		return permitted;
	}

	@Override
	public void releasePermission() {
		this.breaker.releasePermission();
	}

	@Override
	public void onSuccess(Duration duration) {
		this.breaker.onSuccess(duration.toNanos(), TimeUnit.NANOSECONDS);
		reportChange();
	}

	@Override
	public void onError(Duration duration, Throwable error) {
		this.breaker.onError(duration.toNanos(), TimeUnit.NANOSECONDS, error);
		reportChange();
	}

	@Override
	public void onStateChange(Consumer<State> consumer) {
		this.consumers.add(consumer);
		consumer.accept(state());
	}

	private void reportChange() {
		if (state() != this.reported) {
			report();
		}
	}

	private synchronized void report() {
		State state = state();
		if (state != this.reported) {
			this.reportedAt = this.breaker.getCurrentTimestamp();
			this.reported = state;
			this.consumers.forEach((consumer) -> consumer.accept(state));
		}
	}

	private State state() {
		return switch (this.breaker.getState()) {
			case OPEN, FORCED_OPEN -> State.OPEN;
			case HALF_OPEN -> State.HALF_OPEN;
			default -> State.CLOSED;
		};
	}

}
