/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.micrometer;

import java.time.Duration;
import java.util.Map;
import java.util.stream.Collectors;

import io.micrometer.common.KeyValue;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import org.junit.jupiter.api.Test;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.OperationContext.OpenContext;
import dev.idempotency.template.OperationObserver.HandledOperation;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ObservationTags}.
 */
class ObservationTagsTests {

	private static final IdempotencyKey KEY = IdempotencyKey.of("ledger", "key");

	private static final IdempotentOperation OPERATION = TestDatabase.operation(KEY, Mode.LEASED);

	private final ObservationRegistry registry = ObservationRegistry.create();

	private final ObservationTags tags = new ObservationTags(this.registry);

	private final Observation.Context context = new Observation.Context();

	ObservationTagsTests() {
		this.registry.observationConfig().observationHandler((candidate) -> true);
	}

	private Map<String, String> tagged(Runnable action) {
		Observation.createNotStarted("record", () -> this.context, this.registry).observe(action);
		assertThat(this.context.getHighCardinalityKeyValues()).allMatch((one) -> one.getKey().endsWith(".attempt"));
		assertThat(this.context.getLowCardinalityKeyValues()).noneMatch((one) -> one.getKey().endsWith(".attempt"));
		return this.context.getAllKeyValues().stream().collect(Collectors.toMap(KeyValue::getKey, KeyValue::getValue));
	}

	private static HandledOperation execution(IdempotencyKey key, int attempt) {
		return new HandledOperation("payments", Mode.LEASED, key, Outcome.IN_PROGRESS, Duration.ZERO, attempt, null);
	}

	@Test
	void defaultsGiveAllObservationsOfListenersTheSameTags() {
		this.registry.observationConfig().observationFilter(ObservationTags.defaults());
		Observation.createNotStarted("spring.kafka.listener", () -> this.context, this.registry).observe(() -> {
		});
		assertThat(this.context.getLowCardinalityKeyValues()).containsExactlyInAnyOrder(
				KeyValue.of("idempotency.outcome", "none"), KeyValue.of("idempotency.scope", "none"));
		this.context.addLowCardinalityKeyValue(KeyValue.of("idempotency.outcome", "processed"));
		assertThat(ObservationTags.defaults().map(this.context).getLowCardinalityKeyValue("idempotency.outcome"))
			.isEqualTo(KeyValue.of("idempotency.outcome", "processed"));
	}

	@Test
	void defaultsDoNotChangeOtherObservations() {
		this.registry.observationConfig().observationFilter(ObservationTags.defaults());
		assertThat(tagged(() -> {
		})).isEmpty();
	}

	@Test
	void outcomeScopeAndAttemptAreTagged() {
		assertThat(tagged(() -> {
			OpenContext scope = this.tags.begin(OPERATION);
			scope.ended(execution(KEY, 3));
			scope.close();
		})).isEqualTo(Map.of("idempotency.outcome", "in_progress", "idempotency.scope", "ledger", "idempotency.attempt",
				"3"));
	}

	@Test
	void laterOutcomeReplacesPending() {
		assertThat(tagged(() -> {
			OpenContext scope = this.tags.begin(OPERATION);
			scope.close();
			assertThat(this.context.getLowCardinalityKeyValue("idempotency.outcome").getValue()).isEqualTo("pending");
			scope.ended(execution(KEY, 0));
		})).isEqualTo(Map.of("idempotency.outcome", "in_progress", "idempotency.scope", "ledger"));
	}

	@Test
	void recordWithoutAKeyIsTagged() {
		assertThat(tagged(() -> this.tags.handled(execution(null, 0))))
			.isEqualTo(Map.of("idempotency.outcome", "in_progress"));
	}

	@Test
	void recordWithAKeyIsTaggedOnce() {
		assertThat(tagged(() -> this.tags.handled(execution(KEY, 1)))).isEmpty();
	}

	@Test
	void nothingIsTaggedWithoutAnObservation() {
		assertThat(this.tags.begin(OPERATION)).isNull();
		this.tags.handled(execution(null, 0));
		assertThat(new ObservationTags(ObservationRegistry.NOOP).begin(OPERATION)).isNull();
	}

}
