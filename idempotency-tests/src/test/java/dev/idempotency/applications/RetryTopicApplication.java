/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.applications;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.springframework.kafka.annotation.BackOff;
import org.springframework.kafka.annotation.DltHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;

import dev.idempotency.Idempotent;

/**
 * A listener with a retry topic and a handler of dead letters.
 */
class RetryTopicApplication {

	private final Map<String, Integer> attempts = new ConcurrentHashMap<>();

	private final Effects effects;

	RetryTopicApplication(Effects effects) {
		this.effects = effects;
	}

	@Idempotent(key = "#payload.id")
	@RetryableTopic(attempts = "3", backOff = @BackOff(delay = 100))
	@KafkaListener(topics = "${prefix}-shipments", groupId = "${prefix}-shipments")
	void ship(Shipment shipment) {
		if (this.attempts.merge(shipment.id(), 1, Integer::sum) <= shipment.failures()) {
			throw new IllegalStateException("No carrier");
		}
		this.effects.add(shipment.id(), "shipped");
	}

	@DltHandler
	void giveUp(Shipment shipment) {
		this.effects.add(shipment.id(), "given up after " + this.attempts.get(shipment.id()) + " attempts");
	}

	record Shipment(String id, int failures) {
	}

}
