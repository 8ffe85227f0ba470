/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;

import org.apache.kafka.common.errors.NotEnoughReplicasException;
import org.springframework.kafka.core.KafkaTemplate;

import dev.idempotency.producer.KafkaOutboxPublisher;

/**
 * Publishes to Kafka, except for messages that a test selects.
 */
class UnreliablePublisher implements OutboxPublisher {

	private static final Duration SILENCE = Duration.ofSeconds(1);

	private final KafkaOutboxPublisher kafka;

	private volatile Predicate<String> failing = (topic) -> false;

	private final AtomicInteger sends = new AtomicInteger();

	private volatile boolean interrupts;

	UnreliablePublisher(KafkaTemplate<?, ?> template) {
		this.kafka = new KafkaOutboxPublisher(template.getProducerFactory(), Duration.ofSeconds(10), Set.of());
	}

	// A partitioner, an interceptor or an agent may interrupt the thread.
	void interruptOnce() {
		this.interrupts = true;
	}

	int sends() {
		return this.sends.get();
	}

	void fail(Predicate<String> topics) {
		this.failing = topics;
	}

	@Override
	public void beginRound() {
		this.kafka.beginRound();
	}

	@Override
	public CompletionStage<?> publish(OutboxRow row) {
		this.sends.incrementAndGet();
		if (this.interrupts) {
			this.interrupts = false;
			Thread.currentThread().interrupt();
		}
		if (!this.failing.test(row.topic())) {
			return this.kafka.publish(row);
		}
		return CompletableFuture.runAsync(() -> {
			throw new NotEnoughReplicasException("Like a timeout of the producer");
		}, CompletableFuture.delayedExecutor(SILENCE.toMillis(), TimeUnit.MILLISECONDS, Runnable::run));
	}

	@Override
	public FailureKind kindOf(Throwable error) {
		return this.kafka.kindOf(error);
	}

}
