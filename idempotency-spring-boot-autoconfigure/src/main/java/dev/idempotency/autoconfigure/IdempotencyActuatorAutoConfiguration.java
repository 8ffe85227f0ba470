/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.util.Set;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.autoconfigure.endpoint.expose.EndpointExposure;
import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import dev.idempotency.ListenerCensus;
import dev.idempotency.actuate.IdempotencyEndpoint;
import dev.idempotency.actuate.IdempotencyStoreHealthIndicator;
import dev.idempotency.actuate.OutboxEndpoint;
import dev.idempotency.actuate.ReconciliationEndpoint;
import dev.idempotency.actuate.WebResponses;
import dev.idempotency.outbox.OutboxAdmin;
import dev.idempotency.outbox.OutboxLoop;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.reconcile.Reconciliation;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.Observers;

/**
 * {@link AutoConfiguration Auto-configuration} for the actuator endpoints of the store
 * and of the outbox, and for the health indicator of the store.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = { IdempotencyAutoConfiguration.class, IdempotencyKafkaAutoConfiguration.class,
		IdempotencyOutboxAutoConfiguration.class })
@ConditionalOnIdempotency
public final class IdempotencyActuatorAutoConfiguration {

	/**
	 * The endpoints. One group of properties controls which error messages they show.
	 */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(ConditionalOnAvailableEndpoint.class)
	@EnableConfigurationProperties(EndpointProperties.class)
	static class Endpoints {

		@Bean
		@ConditionalOnAvailableEndpoint(exposure = EndpointExposure.WEB)
		@ConditionalOnBean(IdempotencyTemplate.class)
		@ConditionalOnMissingBean
		IdempotencyEndpoint idempotencyEndpoint(StoreRegistry stores, ObjectProvider<ListenerCensus> listeners,
				EndpointProperties properties) {
			return new IdempotencyEndpoint(stores.byName(IdempotencyTemplate::admin),
					() -> listeners.stream().flatMap((census) -> census.listeners().stream()).toList(),
					properties.showValues(), properties.roles());
		}

		@Bean
		@ConditionalOnAvailableEndpoint(exposure = EndpointExposure.WEB)
		@ConditionalOnBean({ IdempotencyTemplate.class, Reconciliation.class })
		@ConditionalOnMissingBean
		ReconciliationEndpoint idempotencyReconciliationEndpoint(Reconciliation reconciliation) {
			return new ReconciliationEndpoint(reconciliation);
		}

		@Bean
		@ConditionalOnBooleanProperty("idempotency.outbox.enabled")
		@ConditionalOnAvailableEndpoint(exposure = EndpointExposure.WEB)
		@ConditionalOnBean(OutboxStore.class)
		@ConditionalOnMissingBean
		OutboxEndpoint idempotencyOutboxEndpoint(OutboxStore store, ObjectProvider<OutboxLoop> relays,
				BeanFactory beanFactory, EndpointProperties properties) {
			OutboxAdmin admin = new OutboxAdmin(store, () -> relays.forEach(OutboxLoop::wake),
					Observers.of(beanFactory));
			return new OutboxEndpoint(admin, properties.showValues(), properties.roles());
		}

		@Bean
		WebResponses idempotencyWebResponses() {
			return new WebResponses();
		}

	}

	/**
	 * The health indicator.
	 */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass({ HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class })
	@ConditionalOnEnabledHealthIndicator("idempotency")
	static class Health {

		@Bean
		@ConditionalOnBean(IdempotencyTemplate.class)
		@ConditionalOnMissingBean(name = "idempotencyHealthIndicator")
		IdempotencyStoreHealthIndicator idempotencyHealthIndicator(ObjectProvider<StoreRegistry> registry) {
			return new IdempotencyStoreHealthIndicator(() -> registry.getObject().byName(IdempotencyTemplate::store));
		}

	}

	/**
	 * Properties of the endpoints.
	 *
	 * @param showValues When to show error messages and stored results.
	 * @param roles Roles used to determine whether a user is authorized to see error
	 * messages and stored results. When empty, all authenticated users are authorized.
	 */
	@ConfigurationProperties("management.endpoint.idempotency")
	record EndpointProperties(@DefaultValue("never") Show showValues, @DefaultValue Set<String> roles) {

	}

}
