/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.micrometer;

import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.ToDoubleFunction;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.Timer;

import dev.idempotency.outbox.OutboxObserver;
import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.outbox.OutboxStore.Status;

/**
 * Publishes meters of an outbox, all with the tag {@code table}. The gauges show the last
 * status that the observer has read, and exist after its first reading.
 * <ul>
 * <li>{@code idempotency.outbox.publish}, timer, from sending a message to the answer of
 * the broker: {@code outcome} ({@code published}, {@code refused}, {@code dead_letter},
 * {@code unavailable})</li>
 * <li>{@code idempotency.outbox.pending}, gauge, messages to publish</li>
 * <li>{@code idempotency.outbox.blocked}, gauge, messages blocked by a dead letter with
 * their topic and key</li>
 * <li>{@code idempotency.outbox.age}, gauge, age of the oldest pending or blocked message
 * in seconds, 0 if there is none. If the status could not be read for 15 seconds, the age
 * grows as if nothing had been published</li>
 * <li>{@code idempotency.outbox.dead.letters}, gauge, dead letters</li>
 * </ul>
 *
 * @since 0.1.0
 */
public final class OutboxMetrics implements OutboxObserver {

	// Three intervals of the observer.
	private static final Duration FRESH = Duration.ofSeconds(15);

	private final MeterRegistry registry;

	private final String table;

	// Registered at the start: a rate misses the first event of a new meter.
	private final Map<PublishOutcome, Timer> published = new EnumMap<>(PublishOutcome.class);

	private final AtomicBoolean observed = new AtomicBoolean();

	private volatile Status status = new Status(0, Duration.ZERO, 0, 0);

	private volatile long observedAt;

	/**
	 * Create a listener.
	 * @param registry the registry of the meters
	 * @param table name of the outbox's table
	 */
	public OutboxMetrics(MeterRegistry registry, String table) {
		this.registry = registry;
		this.table = table;
		for (PublishOutcome outcome : PublishOutcome.values()) {
			this.published.put(outcome,
					Timer.builder("idempotency.outbox.publish")
						.description("Time from sending a message with the outbox to the answer of the broker")
						.tag("table", table)
						.tag("outcome", IdempotencyMetrics.value(outcome))
						.register(registry));
		}
	}

	@Override
	public void attempted(OutboxRow row, PublishOutcome outcome, Duration duration) {
		Objects.requireNonNull(this.published.get(outcome)).record(duration);
	}

	@Override
	public void observed(Status status) {
		this.status = status;
		this.observedAt = this.registry.config().clock().monotonicTime();
		if (this.observed.compareAndSet(false, true)) {
			gauge("pending", "Messages of the outbox to publish", Status::pending);
			gauge("blocked", "Messages of the outbox that are blocked by a dead letter with their topic and key",
					Status::blocked);
			gauge("dead.letters", "Dead letters of the outbox", Status::deadLetters);
			TimeGauge.builder("idempotency.outbox.age", this, TimeUnit.MILLISECONDS, OutboxMetrics::age)
				.description("Age of the oldest pending or blocked message of the outbox")
				.tag("table", this.table)
				.register(this.registry);
		}
	}

	private void gauge(String name, String description, ToDoubleFunction<Status> value) {
		Gauge.builder("idempotency.outbox." + name, this, (metrics) -> value.applyAsDouble(metrics.status))
			.description(description)
			.tag("table", this.table)
			.register(this.registry);
	}

	// While the database is unavailable, the relay cannot publish either.
	private long age() {
		long since = TimeUnit.NANOSECONDS.toMillis(this.registry.config().clock().monotonicTime() - this.observedAt);
		return this.status.oldest().toMillis() + ((since > FRESH.toMillis()) ? since : 0);
	}

}
