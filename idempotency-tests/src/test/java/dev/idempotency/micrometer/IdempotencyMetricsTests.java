/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.micrometer;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;
import dev.idempotency.template.OperationObserver.BlockedRecord;
import dev.idempotency.template.OperationObserver.HandledOperation;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.template.StoreCircuit;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.template.StoreObserver.StoreOutcome;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link IdempotencyMetrics}.
 */
class IdempotencyMetricsTests {

	private final MeterRegistry registry = new SimpleMeterRegistry();

	private final IdempotencyMetrics listener = new IdempotencyMetrics(this.registry);

	private void executed(String key, Outcome outcome) {
		this.listener.handled(new HandledOperation("payments", Mode.LEASED, IdempotencyKey.of("scope", key), outcome,
				Duration.ofMillis(5)));
	}

	private List<String> tags(String name) {
		return this.registry.get(name).meter().getId().getTags().stream().map(Tag::toString).toList();
	}

	@ParameterizedTest
	@EnumSource
	void executionIsTimedUnderItsOutcome(Outcome outcome) {
		executed("a", outcome);
		Timer timer = this.registry.get("idempotency.process")
			.tags("listener", "payments", "mode", "leased", "outcome", outcome.name().toLowerCase())
			.timer();
		assertThat(timer.count()).isOne();
		assertThat(timer.totalTime(TimeUnit.MILLISECONDS)).isEqualTo(5);
	}

	@Test
	void ageIsThatOfTheRecordThatIsBlockedForTheLongestTime() {
		BlockedRecord older = new BlockedRecord("payments", "topic", 0, 7, Instant.now().minusSeconds(60));
		this.listener.blocked(older);
		this.listener.blocked(new BlockedRecord("payments", "topic", 1, 7, Instant.now().minusSeconds(5)));
		TimeGauge age = this.registry.get("idempotency.blocked.age").tag("listener", "payments").timeGauge();
		assertThat(age.value(TimeUnit.SECONDS)).isBetween(60.0, 300.0);
		this.listener.unblocked(older);
		assertThat(age.value(TimeUnit.SECONDS)).isBetween(5.0, 50.0);
	}

	@Test
	void executionHasThreeTags() {
		executed("a", Outcome.PROCESSED);
		assertThat(tags("idempotency.process")).containsExactlyInAnyOrder("tag(listener=payments)", "tag(mode=leased)",
				"tag(outcome=processed)");
	}

	@Test
	void keysDoNotCreateMeters() {
		for (int i = 0; i < 100; i++) {
			executed("key-" + i, Outcome.PROCESSED);
		}
		assertThat(this.registry.getMeters()).singleElement()
			.extracting(Meter::getId)
			.asString()
			.doesNotContain("key-");
		assertThat(this.registry.get("idempotency.process").timer().count()).isEqualTo(100);
	}

	@ParameterizedTest
	@CsvSource({ "OK,ok", "REFUSED,refused", "UNAVAILABLE,unavailable" })
	void storeCallIsTimed(StoreOutcome available, String outcome) {
		this.listener.storeCalled("jdbc", StoreCall.COMPLETE, available, Duration.ofMillis(7));
		Timer timer = this.registry.get("idempotency.store")
			.tags("store", "jdbc", "operation", "complete", "outcome", outcome)
			.timer();
		assertThat(timer.count()).isOne();
		assertThat(timer.totalTime(TimeUnit.MILLISECONDS)).isEqualTo(7);
	}

	@ParameterizedTest
	@CsvSource({ "CLOSED,0", "OPEN,1", "HALF_OPEN,1" })
	void circuitGaugeIsOneUnlessTheCircuitIsClosed(StoreCircuit.State state, double value) {
		this.listener.circuitChanged("jdbc", StoreCircuit.State.OPEN);
		this.listener.circuitChanged("jdbc", state);
		assertThat(this.registry.get("idempotency.circuit.open").tag("store", "jdbc").gauge().value()).isEqualTo(value);
	}

	@Test
	void missingKeyIsCounted() {
		this.listener.keyMissing("payments", MissingKeyPolicy.RECORD_COORDINATES);
		this.listener.keyMissing("payments", MissingKeyPolicy.RECORD_COORDINATES);
		assertThat(this.registry.get("idempotency.key.missing")
			.tags("listener", "payments", "policy", "record_coordinates")
			.counter()
			.count()).isEqualTo(2);
	}

	@Test
	void deletedRecordsAreCounted() {
		this.listener.cleanedUp("idempotency_record", 3);
		this.listener.cleanedUp("idempotency_record", 4);
		assertThat(
				this.registry.get("idempotency.cleanup.deleted").tag("table", "idempotency_record").counter().count())
			.isEqualTo(7);
	}

	@Test
	void cleanupIsTimed() {
		this.listener.cleanupEnded("idempotency_record", Duration.ofMillis(5), Duration.ZERO);
		Timer timer = this.registry.get("idempotency.cleanup.duration").tag("table", "idempotency_record").timer();
		assertThat(timer.count()).isOne();
		assertThat(timer.totalTime(TimeUnit.MILLISECONDS)).isEqualTo(5);
	}

	@Test
	void backlogGaugeShowsTheLastCleanup() {
		for (Duration age : List.of(Duration.ofMinutes(2), Duration.ZERO, Duration.ofMillis(1500))) {
			this.listener.cleanupEnded("idempotency_record", Duration.ofMillis(5), age);
			assertThat(this.registry.get("idempotency.cleanup.backlog.age")
				.tag("table", "idempotency_record")
				.timeGauge()
				.value(TimeUnit.MILLISECONDS)).isEqualTo(age.toMillis());
		}
	}

	@Test
	void everyMeterHasADescription() {
		executed("a", Outcome.PROCESSED);
		this.listener.storeCalled("jdbc", StoreCall.CLAIM, StoreOutcome.OK, Duration.ZERO);
		this.listener.keyMissing("payments", MissingKeyPolicy.REJECT);
		this.listener.cleanedUp("idempotency_record", 1);
		this.listener.cleanupEnded("idempotency_record", Duration.ZERO, Duration.ZERO);
		this.listener.circuitChanged("jdbc", StoreCircuit.State.CLOSED);
		assertThat(this.registry.getMeters()).hasSize(7)
			.allSatisfy((meter) -> assertThat(meter.getId().getDescription()).isNotBlank());
	}

}
