/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.export.simple.SimpleMetricsExportAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.actuate.IdempotencyEndpoint;
import dev.idempotency.actuate.IdempotencyStoreHealthIndicator;
import dev.idempotency.actuate.OutboxEndpoint;
import dev.idempotency.jackson.JacksonSerialization;
import dev.idempotency.micrometer.IdempotencyMetrics;
import dev.idempotency.micrometer.ObservationTags;
import dev.idempotency.micrometer.OutboxMetrics;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.slf4j.MdcOperationContext;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.Serialization;
import dev.idempotency.testsupport.Contexts;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link IdempotencyMicrometerAutoConfiguration},
 * {@link IdempotencyActuatorAutoConfiguration} and the optional parts of
 * {@link IdempotencyAutoConfiguration}.
 */
@Order(3)
class OptionalTechnologiesTests {

	private final ApplicationContextRunner runner = Contexts.all();

	@Test
	void technologiesOfTheApplicationAreUsed() {
		this.runner.run((context) -> assertThat(context).hasSingleBean(IdempotencyTemplate.class)
			.hasSingleBean(JacksonSerialization.class)
			.hasSingleBean(IdempotencyMetrics.class)
			.hasSingleBean(MdcOperationContext.class)
			.hasSingleBean(IdempotencyStoreHealthIndicator.class)
			.doesNotHaveBean(ObservationTags.class)
			.doesNotHaveBean(IdempotencyEndpoint.class)
			.doesNotHaveBean(OutboxMetrics.class)
			.doesNotHaveBean("idempotencyStoreCleanup"));
	}

	@Test
	void eachCanBeDisabled() {
		this.runner
			.withPropertyValues("idempotency.mdc.enabled=false", "management.health.idempotency.enabled=false",
					"management.endpoints.web.exposure.include=*", "management.endpoint.idempotency.access=NONE")
			.run((context) -> assertThat(context).hasSingleBean(IdempotencyTemplate.class)
				.doesNotHaveBean(MdcOperationContext.class)
				.doesNotHaveBean(IdempotencyStoreHealthIndicator.class)
				.doesNotHaveBean(IdempotencyEndpoint.class)
				.doesNotHaveBean(OutboxEndpoint.class));
	}

	@Test
	void endpointAndCleanupJobArePresentWhenEnabled() {
		this.runner
			.withPropertyValues("management.endpoints.web.exposure.include=idempotency",
					"idempotency.cleanup.enabled=true")
			.run((context) -> {
				assertThat(context).hasSingleBean(IdempotencyEndpoint.class);
				assertThat(context.getBean("idempotencyStoreCleanup", LifecycleGroup.class).isRunning()).isTrue();
			});
	}

	@Test
	void resultsAreSerializedWithJacksonWithoutAJsonMapperBean() {
		Contexts.without(JacksonAutoConfiguration.class)
			.run((context) -> assertThat(context).hasSingleBean(JacksonSerialization.class)
				.doesNotHaveBean(JsonMapper.class));
	}

	@Test
	void applicationWithoutJacksonStarts() {
		Contexts.without(JacksonAutoConfiguration.class)
			.withClassLoader(new FilteredClassLoader("tools.jackson"))
			.run((context) -> assertThat(context).hasSingleBean(IdempotencyTemplate.class)
				.doesNotHaveBean(Serialization.class));
	}

	@Test
	void serializationOfTheApplicationIsUsed() {
		this.runner.withUserConfiguration(UsersSerialization.class)
			.run((context) -> assertThat(context).hasSingleBean(Serialization.class).hasBean("usersSerialization"));
	}

	@Test
	void outboxHasMetersAndAnEndpoint() {
		ApplicationContextRunner enabled = this.runner.withPropertyValues("idempotency.outbox.enabled=true",
				"management.endpoints.web.exposure.include=idempotencyoutbox");
		enabled.run((context) -> assertThat(context).hasSingleBean(OutboxMetrics.class)
			.hasSingleBean(OutboxEndpoint.class));
		enabled.withPropertyValues("management.endpoint.idempotencyoutbox.access=NONE")
			.run((context) -> assertThat(context).hasSingleBean(OutboxStore.class)
				.doesNotHaveBean(OutboxEndpoint.class));
		enabled.withPropertyValues("idempotency.enabled=false")
			.run((context) -> assertThat(context).doesNotHaveBean(OutboxMetrics.class)
				.doesNotHaveBean(OutboxEndpoint.class));
	}

	@ParameterizedTest
	@ValueSource(classes = { MeterRegistry.class, ConditionalOnAvailableEndpoint.class })
	void applicationWithAnOutboxStartsWithoutAnOptionalTechnology(Class<?> missing) {
		Contexts.without(MetricsAutoConfiguration.class, SimpleMetricsExportAutoConfiguration.class)
			.withPropertyValues("management.endpoints.web.exposure.include=*", "idempotency.outbox.enabled=true")
			.withClassLoader(new FilteredClassLoader(missing))
			.run((context) -> assertThat(context).hasSingleBean(OutboxStore.class));
	}

	@Test
	void applicationWithoutMeterRegistryStarts() {
		Contexts.without(MetricsAutoConfiguration.class, SimpleMetricsExportAutoConfiguration.class)
			.run((context) -> assertThat(context).hasSingleBean(IdempotencyTemplate.class)
				.doesNotHaveBean(IdempotencyMetrics.class));
	}

	@Test
	void applicationWithoutMicrometerStarts() {
		Contexts.without(MetricsAutoConfiguration.class, SimpleMetricsExportAutoConfiguration.class)
			.withClassLoader(new FilteredClassLoader("io.micrometer.core"))
			.run((context) -> assertThat(context).hasSingleBean(IdempotencyTemplate.class)
				.doesNotHaveBean("idempotencyMetrics"));
	}

	@Test
	void observationsAreTaggedWhenThereIsAnObservationRegistry() {
		this.runner.withBean(ObservationRegistry.class, ObservationRegistry::create)
			.run((context) -> assertThat(context).hasSingleBean(ObservationTags.class));
	}

	@Test
	void applicationWithoutHealthStarts() {
		this.runner.withClassLoader(new FilteredClassLoader(HealthIndicator.class))
			.run((context) -> assertThat(context).hasSingleBean(IdempotencyTemplate.class)
				.doesNotHaveBean("idempotencyHealthIndicator"));
	}

	@Test
	void applicationWithoutActuatorStarts() {
		this.runner.withPropertyValues("management.endpoints.web.exposure.include=*")
			.withClassLoader(new FilteredClassLoader(ConditionalOnAvailableEndpoint.class))
			.run((context) -> assertThat(context).hasSingleBean(IdempotencyTemplate.class)
				.doesNotHaveBean("idempotencyEndpoint"));
	}

	@Test
	void applicationWithoutSpringJdbcStarts() {
		Contexts
			.without(DataSourceAutoConfiguration.class, DataSourceTransactionManagerAutoConfiguration.class,
					JdbcTemplateAutoConfiguration.class, FlywayAutoConfiguration.class)
			.withClassLoader(new FilteredClassLoader("org.springframework.jdbc"))
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(IdempotencyStore.class));
	}

	static class UsersSerialization {

		@Bean
		Serialization usersSerialization() {
			return new JacksonSerialization(new JsonMapper());
		}

	}

}
