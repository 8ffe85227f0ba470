/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/**
 * Topics to which the broker has refused a message lately. Their messages are published
 * one by one for each ordering key: a refusal then abandons no round, which would send
 * messages that are in flight to other brokers twice.
 */
final class RefusingTopics {

	// Longer than most pauses before a refused message is tried again. A claim also
	// shows which messages were refused before.
	private static final Duration TIME = Duration.ofSeconds(5);

	private final Map<String, Long> topics = new HashMap<>();

	void add(String topic) {
		this.topics.put(topic, System.nanoTime());
	}

	boolean contains(String topic) {
		this.topics.values().removeIf((since) -> System.nanoTime() - since > TIME.toNanos());
		return this.topics.containsKey(topic);
	}

}
