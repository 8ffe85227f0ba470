/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The calls of the listeners of {@link WaitingTests}.
 */
class WaitingLog {

	private final Map<String, Queue<String>> seen = new ConcurrentHashMap<>();

	private final Map<String, AtomicInteger> blockedDeliveries = new ConcurrentHashMap<>();

	private final Map<String, AtomicInteger> assignments = new ConcurrentHashMap<>();

	final Queue<Integer> attempts = new ConcurrentLinkedQueue<>();

	Queue<String> seen(String name) {
		return this.seen.computeIfAbsent(name, (key) -> new ConcurrentLinkedQueue<>());
	}

	AtomicInteger blockedDeliveries(String name) {
		return this.blockedDeliveries.computeIfAbsent(name, (key) -> new AtomicInteger());
	}

	AtomicInteger assignments(String topic) {
		return this.assignments.computeIfAbsent(topic, (key) -> new AtomicInteger());
	}

}
