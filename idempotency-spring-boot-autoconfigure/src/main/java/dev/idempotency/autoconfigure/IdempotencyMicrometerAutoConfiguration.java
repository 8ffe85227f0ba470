/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.ObservationFilter;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.tracing.Tracer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingClass;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.Order;

import dev.idempotency.listener.observation.BatchSpanLinks;
import dev.idempotency.micrometer.IdempotencyMetrics;
import dev.idempotency.micrometer.ObservationTags;
import dev.idempotency.micrometer.OutboxMetrics;
import dev.idempotency.micrometer.OutboxTrace;
import dev.idempotency.outbox.OutboxStore;

/**
 * {@link AutoConfiguration Auto-configuration} for the meters of listeners and of the
 * outbox, the tags of observations, the links of the spans of batches and the tracing of
 * outbox messages.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = { IdempotencyAutoConfiguration.class, IdempotencyOutboxAutoConfiguration.class },
		afterName = { "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration",
				"org.springframework.boot.micrometer.tracing.autoconfigure.MicrometerTracingAutoConfiguration",
				"org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration",
				"org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration",
				"org.springframework.boot.micrometer.metrics.autoconfigure.export.simple.SimpleMetricsExportAutoConfiguration" })
@ConditionalOnIdempotency
public final class IdempotencyMicrometerAutoConfiguration {

	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(MeterRegistry.class)
	@ConditionalOnBean(MeterRegistry.class)
	static class Meters {

		@Bean
		@ConditionalOnMissingBean
		IdempotencyMetrics idempotencyMetrics(MeterRegistry registry) {
			return new IdempotencyMetrics(registry);
		}

		@Bean
		@ConditionalOnBooleanProperty("idempotency.outbox.enabled")
		@ConditionalOnBean(OutboxStore.class)
		@ConditionalOnMissingBean
		OutboxMetrics idempotencyOutboxMetrics(MeterRegistry registry, OutboxStore store) {
			return new OutboxMetrics(registry, store.table());
		}

	}

	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(ObservationRegistry.class)
	@ConditionalOnBean(ObservationRegistry.class)
	static class Observations {

		@Bean
		@ConditionalOnMissingBean
		ObservationTags idempotencyObservationTags(ObservationRegistry registry) {
			return new ObservationTags(registry);
		}

		// Only for Spring Boot 4.0, whose Micrometer requires the same tags in all meters
		// of one name. The class is new in Spring Kafka 4.1.
		@Bean
		@ConditionalOnMissingClass("org.springframework.kafka.listener.ShareConsumerRecordRecoverer")
		ObservationFilter idempotencyObservationDefaults() {
			return ObservationTags.defaults();
		}

		@Bean
		@ConditionalOnMissingBean
		@ConditionalOnBooleanProperty("idempotency.outbox.enabled")
		OutboxTrace idempotencyOutboxTrace(ObservationRegistry registry) {
			return new OutboxTrace(registry);
		}

	}

	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass({ Tracer.class, ConsumerRecord.class })
	@ConditionalOnBean(Tracer.class)
	static class Tracing {

		// The first handler that supports an observation starts its span. Micrometer's
		// default handler supports all observations, and has a lower precedence.
		@Bean
		@ConditionalOnMissingBean
		@Order(0)
		BatchSpanLinks idempotencyBatchSpanLinks(Tracer tracer) {
			return new BatchSpanLinks(tracer);
		}

	}

}
