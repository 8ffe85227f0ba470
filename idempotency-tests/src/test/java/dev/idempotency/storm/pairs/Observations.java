/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm.pairs;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

import org.springframework.context.event.EventListener;
import org.springframework.kafka.event.ConsumerStartedEvent;
import org.springframework.kafka.event.ConsumerStoppedEvent;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.template.OperationObserver;

/**
 * The events of a trial.
 */
class Observations implements OperationObserver {

	static final String NESTED = "nested";

	private static final Duration QUIET = Duration.ofSeconds(5);

	private final Queue<HandledOperation> handled = new ConcurrentLinkedQueue<>();

	private final AtomicInteger notStored = new AtomicInteger();

	private volatile long last = System.nanoTime();

	private final AtomicInteger consumers = new AtomicInteger();

	@Override
	public void handled(HandledOperation operation) {
		this.last = System.nanoTime();
		if (!operation.listener().equals(NESTED)) {
			this.handled.add(operation);
		}
	}

	@Override
	public void resultNotStored(String listener, IdempotencyKey key) {
		this.notStored.incrementAndGet();
	}

	@EventListener
	void started(ConsumerStartedEvent event) {
		this.consumers.incrementAndGet();
	}

	@EventListener
	void stopped(ConsumerStoppedEvent event) {
		this.consumers.decrementAndGet();
	}

	/**
	 * Whether all consumers have stopped.
	 * @return whether the container may be started again
	 */
	boolean idle() {
		return this.consumers.get() == 0;
	}

	/**
	 * Whether nothing has happened for some seconds.
	 * @return whether no record is retried any more
	 */
	boolean quiet() {
		return System.nanoTime() - this.last > QUIET.toNanos();
	}

	List<HandledOperation> handled() {
		return List.copyOf(this.handled);
	}

	long count(Outcome outcome) {
		return this.handled.stream().filter((operation) -> operation.outcome() == outcome).count();
	}

	Map<Outcome, Long> counts() {
		Map<Outcome, Long> counts = new TreeMap<>();
		this.handled.forEach((operation) -> counts.merge(operation.outcome(), 1L, Long::sum));
		return counts;
	}

	int notStored() {
		return this.notStored.get();
	}

}
