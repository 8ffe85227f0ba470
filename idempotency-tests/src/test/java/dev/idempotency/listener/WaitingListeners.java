/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;

/**
 * One listener for each kind of error handler. The name of a listener is its scope.
 */
class WaitingListeners {

	private final WaitingLog log;

	WaitingListeners(WaitingLog log) {
		this.log = log;
	}

	@Idempotent(scope = "plain")
	@KafkaListener(topics = "${topic.plain}", groupId = "${topic.plain}")
	void plain(String value) {
		see("plain", value);
	}

	@Idempotent(scope = "dlt", mode = Mode.LEASED)
	@KafkaListener(topics = "${topic.dlt}", groupId = "${topic.dlt}", containerFactory = "dltFactory")
	void dlt(String value) {
		see("dlt", value);
	}

	@Idempotent(scope = "logging", mode = Mode.LEASED)
	@KafkaListener(topics = "${topic.logging}", groupId = "${topic.logging}", containerFactory = "loggingFactory")
	void logging(String value) {
		see("logging", value);
	}

	@Idempotent(scope = "unseeking")
	@KafkaListener(topics = "${topic.unseeking}", groupId = "${topic.unseeking}", containerFactory = "unseekingFactory")
	void unseeking(String value) {
		see("unseeking", value);
	}

	@Idempotent(scope = "swallowing")
	@KafkaListener(topics = "${topic.swallowing}", groupId = "${topic.swallowing}", errorHandler = "swallow")
	void swallowing(String value) {
		see("swallowing", value);
	}

	@Idempotent(scope = "rejoined", mode = Mode.LEASED)
	@KafkaListener(topics = "${topic.rejoined}", groupId = "${topic.rejoined}", containerFactory = "dltFactory")
	void rejoined(String value) {
		this.log.attempts.add(IdempotentExecution.current().attempt());
		throw new IllegalStateException("fails for good");
	}

	private void see(String name, String value) {
		this.log.seen(name).add(value);
	}

}
