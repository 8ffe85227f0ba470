/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.applications;

import org.springframework.kafka.annotation.KafkaHandler;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;

/**
 * A class-level listener with a method for each type of payload and one for the others.
 */
@KafkaListener(topics = "${prefix}-handlers", groupId = "${prefix}-handlers")
class HandlersApplication {

	private final Effects effects;

	HandlersApplication(Effects effects) {
		this.effects = effects;
	}

	@KafkaHandler
	@Idempotent(key = "#payload.id")
	void opened(Opened event) {
		this.effects.add(event.id(), "opened");
	}

	@KafkaHandler
	@Idempotent(key = "#payload.id")
	void closed(Closed event) {
		this.effects.add(event.id(), "closed");
	}

	@KafkaHandler(isDefault = true)
	@Idempotent(key = "#payload.toString()")
	void other(Object event) {
		if (event instanceof Audited audited) {
			this.effects.add(audited.id(), "other");
		}
	}

	record Opened(String id) {
	}

	record Closed(String id) {
	}

	record Audited(String id) {
	}

}
