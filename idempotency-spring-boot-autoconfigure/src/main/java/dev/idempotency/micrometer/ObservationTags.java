/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.micrometer;

import java.util.stream.Stream;

import io.micrometer.common.KeyValue;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationFilter;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;

import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.OperationContext;
import dev.idempotency.template.OperationObserver;

/**
 * Adds tags to the current observation of an operation. For a listener, it is Spring
 * Kafka's observation of the record. The tags are {@code idempotency.outcome} (see
 * {@link dev.idempotency.template.OperationObserver.Outcome}; {@code pending} if a Kafka
 * transaction decides after the end of the observation), {@code idempotency.scope} and,
 * if the handler has run, {@code idempotency.attempt}. Records of a batch have no
 * observation, and the observation of the batch gets no tags of them.
 * <p>
 * Outcome and scope have bounded values and are also tags of Spring Kafka's meter. The
 * attempt is a tag of the span only.
 *
 * @param registry the registry of the current observation
 * @since 0.1.0
 */
public record ObservationTags(ObservationRegistry registry) implements OperationContext, OperationObserver {

	private static final String OUTCOME = "idempotency.outcome";

	private static final String SCOPE = "idempotency.scope";

	private static final String ATTEMPT = "idempotency.attempt";

	private static final String LISTENER = "spring.kafka.listener";

	private static final String BATCH = "idempotency.batch";

	private static final String NONE = "none";

	@Override
	public @Nullable OpenContext begin(IdempotentOperation operation) {
		Observation current = current();
		return (current != null) ? new Tagged(current, operation.key().scope()) : null;
	}

	/**
	 * Return a filter that gives outcome and scope the value {@code none} in observations
	 * of listeners that do not have them. All meters of one name then have the same tags.
	 * Before version 1.17, Micrometer's registry for Prometheus drops meters with other
	 * tags than the first one of their name.
	 * @return the filter
	 */
	public static ObservationFilter defaults() {
		return (context) -> {
			if (LISTENER.equals(context.getName())) {
				Stream.of(OUTCOME, SCOPE)
					.filter((tag) -> context.getLowCardinalityKeyValue(tag) == null)
					.forEach((tag) -> context.addLowCardinalityKeyValue(KeyValue.of(tag, NONE)));
			}
			return context;
		};
	}

	// A record without a key has no operation, so begin() is not called for it.
	@Override
	public void handled(HandledOperation execution) {
		Observation current = (execution.key() == null) ? current() : null;
		if (current != null) {
			current.lowCardinalityKeyValue(OUTCOME, IdempotencyMetrics.value(execution.outcome()));
		}
	}

	private @Nullable Observation current() {
		Observation current = this.registry.getCurrentObservation();
		return (current != null && !current.isNoop() && !BATCH.equals(current.getContextView().getName())) ? current
				: null;
	}

	private static final class Tagged implements OpenContext {

		private final Observation observation;

		private boolean ended;

		Tagged(Observation observation, String scope) {
			this.observation = observation;
			observation.lowCardinalityKeyValue(SCOPE, scope);
		}

		@Override
		public void close() {
			if (!this.ended) {
				this.observation.lowCardinalityKeyValue(OUTCOME, "pending");
			}
		}

		@Override
		public void ended(HandledOperation execution) {
			this.ended = true;
			this.observation.lowCardinalityKeyValue(OUTCOME, IdempotencyMetrics.value(execution.outcome()));
			if (execution.attempt() > 0) {
				this.observation.highCardinalityKeyValue(ATTEMPT, String.valueOf(execution.attempt()));
			}
		}

	}

}
