/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.micrometer;

import java.util.ArrayList;
import java.util.List;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.transport.SenderContext;

import dev.idempotency.outbox.OutboxContext;
import dev.idempotency.outbox.OutboxMessage;

/**
 * Adds the trace of the sender to messages, as the observation of a {@code KafkaTemplate}
 * does. With Micrometer Tracing, the headers are {@code traceparent} and
 * {@code tracestate} of a child of the current span. Each message is an observation
 * {@code idempotency.outbox.send}. Nothing is added without a current observation, or if
 * the message already has such headers.
 *
 * @param registry the registry of the current observation
 * @since 0.1.0
 */
public record OutboxTrace(ObservationRegistry registry) implements OutboxContext {

	private static final String NAME = "idempotency.outbox.send";

	private static final String TRACE_PARENT = "traceparent";

	@Override
	public List<OutboxMessage.Header> headers(OutboxMessage message) {
		Observation current = this.registry.getCurrentObservation();
		if (current == null || current.isNoop() || message.hasHeader(TRACE_PARENT)) {
			return List.of();
		}
		List<OutboxMessage.Header> headers = new ArrayList<>();
		SenderContext<List<OutboxMessage.Header>> context = new SenderContext<>(
				(carrier, name, value) -> headers.add(new OutboxMessage.Header(name, value)));
		context.setCarrier(headers);
		context.setRemoteServiceName("Apache Kafka");
		Observation.createNotStarted(NAME, () -> context, this.registry)
			.contextualName(message.topic() + " send")
			.start()
			.stop();
		return headers.stream().anyMatch((header) -> message.hasHeader(header.name())) ? List.of() : headers;
	}

}
