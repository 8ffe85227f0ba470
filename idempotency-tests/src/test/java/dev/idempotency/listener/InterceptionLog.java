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

/**
 * The calls of the listeners and interceptors of {@link InterceptionTests}.
 */
class InterceptionLog {

	private final Map<String, Queue<String>> seen = new ConcurrentHashMap<>();

	Queue<String> of(String name) {
		return this.seen.computeIfAbsent(name, (key) -> new ConcurrentLinkedQueue<>());
	}

}
