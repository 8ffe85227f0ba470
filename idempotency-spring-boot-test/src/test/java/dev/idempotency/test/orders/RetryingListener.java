/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.orders;

import java.util.concurrent.atomic.AtomicInteger;

import org.springframework.kafka.annotation.BackOff;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;
import org.springframework.stereotype.Component;

import dev.idempotency.Idempotent;

/**
 * A listener with retry topics that fails twice.
 */
@Component
class RetryingListener {

	private final AtomicInteger handled = new AtomicInteger();

	@RetryableTopic(attempts = "4", backOff = @BackOff(delay = 200), numPartitions = "2")
	@KafkaListener(topics = "orders", groupId = "retrying")
	@Idempotent
	void handle(String order) {
		if (this.handled.incrementAndGet() < 3) {
			throw new IllegalStateException("not yet");
		}
	}

	int handled() {
		return this.handled.get();
	}

}
