/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.micrometer;

import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.MockClock;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import dev.idempotency.outbox.OutboxObserver.PublishOutcome;
import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.outbox.OutboxStore.Status;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link OutboxMetrics}.
 */
class OutboxMetricsTests {

	private static final OutboxRow ROW = new OutboxRow(UUID.randomUUID(), "payments", null, null, List.of(), "key",
			"payment", "42", "PaymentCharged");

	private final MockClock clock = new MockClock();

	private final MeterRegistry registry = new SimpleMeterRegistry(SimpleConfig.DEFAULT, this.clock);

	private final OutboxMetrics listener = new OutboxMetrics(this.registry, "messages");

	private final long start = this.clock.monotonicTime();

	private double gauge(String name) {
		return this.registry.get(name).tag("table", "messages").gauge().value();
	}

	@ParameterizedTest
	@CsvSource({ "PUBLISHED, published", "REFUSED, refused", "DEAD_LETTER, dead_letter", "UNAVAILABLE, unavailable" })
	void messageIsTimedUnderItsOutcome(PublishOutcome outcome, String tag) {
		this.listener.attempted(ROW, outcome, Duration.ofMillis(5));
		Timer timer = this.registry.get("idempotency.outbox.publish").tags("table", "messages", "outcome", tag).timer();
		assertThat(timer.count()).isOne();
		assertThat(timer.totalTime(TimeUnit.MILLISECONDS)).isEqualTo(5);
	}

	@Test
	void timersOfAllOutcomesButNoGaugesExistAtTheStart() {
		assertThat(this.registry.getMeters()).hasSize(PublishOutcome.values().length)
			.allSatisfy((meter) -> assertThat(meter.getId().getName()).isEqualTo("idempotency.outbox.publish"));
	}

	@Test
	void gaugesShowTheLastStatus() {
		for (Status status : List.of(new Status(3, Duration.ofMillis(1500), 2, 0), new Status(0, Duration.ZERO, 0, 0),
				new Status(1, Duration.ofHours(1), 7, 5))) {
			this.listener.observed(status);
			assertThat(gauge("idempotency.outbox.pending")).isEqualTo(status.pending());
			assertThat(gauge("idempotency.outbox.dead.letters")).isEqualTo(status.deadLetters());
			assertThat(gauge("idempotency.outbox.blocked")).isEqualTo(status.blocked());
			assertThat(this.registry.get("idempotency.outbox.age").timeGauge().value(TimeUnit.MILLISECONDS))
				.isEqualTo(status.oldest().toMillis());
		}
	}

	@Test
	void ageGrowsWhileTheStatusCannotBeRead() {
		this.listener.observed(new Status(1, Duration.ofSeconds(2), 0, 0));
		for (int seconds : new int[] { 10, 20, 100 }) {
			this.clock.add(Duration.ofSeconds(seconds).minusNanos(this.clock.monotonicTime() - this.start));
			assertThat(this.registry.get("idempotency.outbox.age").timeGauge().value(TimeUnit.SECONDS))
				.isEqualTo((seconds > 15) ? 2 + seconds : 2);
		}
		this.listener.observed(new Status(0, Duration.ZERO, 0, 0));
		assertThat(this.registry.get("idempotency.outbox.age").timeGauge().value(TimeUnit.SECONDS)).isZero();
	}

	@Test
	void topicsAndKeysDoNotCreateMeters() {
		this.listener.attempted(ROW, PublishOutcome.PUBLISHED, Duration.ZERO);
		assertThat(this.registry.getMeters()).extracting(Meter::getId)
			.noneMatch((id) -> id.toString().contains("payments") || id.toString().contains("42"));
	}

	@Test
	void everyMeterHasADescription() {
		this.listener.observed(new Status(0, Duration.ZERO, 0, 0));
		assertThat(this.registry.getMeters()).hasSize(PublishOutcome.values().length + 4)
			.allSatisfy((meter) -> assertThat(meter.getId().getDescription()).isNotBlank());
	}

}
