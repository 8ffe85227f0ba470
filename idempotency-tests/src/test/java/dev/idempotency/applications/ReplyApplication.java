/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.applications;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.messaging.handler.annotation.SendTo;

import dev.idempotency.Idempotent;

/**
 * A service that replies, on virtual threads where the JVM has them.
 */
class ReplyApplication {

	final Set<String> threads = ConcurrentHashMap.newKeySet();

	private final AtomicInteger numbers = new AtomicInteger();

	private final Effects effects;

	ReplyApplication(Effects effects) {
		this.effects = effects;
	}

	@SendTo("${prefix}-accounts-replies")
	@Idempotent(key = "#payload.requestId")
	@KafkaListener(topics = "${prefix}-accounts", groupId = "${prefix}-accounts")
	AccountOpened open(OpenAccount request) {
		this.threads.add(Thread.currentThread().toString());
		this.effects.add(request.requestId(), "opened for " + request.owner());
		return new AccountOpened(request.requestId(), request.owner(), this.numbers.incrementAndGet());
	}

	record OpenAccount(String requestId, String owner) {
	}

	record AccountOpened(String requestId, String owner, int number) {
	}

}
