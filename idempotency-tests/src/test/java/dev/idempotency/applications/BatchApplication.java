/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.applications;

import java.util.List;

import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;

/**
 * A batch listener whose payloads are JSON.
 */
class BatchApplication {

	private final Effects effects;

	BatchApplication(Effects effects) {
		this.effects = effects;
	}

	@Idempotent(key = "#payload.id")
	@KafkaListener(topics = "${prefix}-batch", groupId = "${prefix}-batch", batch = "true")
	void store(List<Measurement> measurements) {
		measurements.forEach((measurement) -> this.effects.add(measurement.id(), "measured " + measurement.value()));
	}

	record Measurement(String id, int value) {
	}

}
