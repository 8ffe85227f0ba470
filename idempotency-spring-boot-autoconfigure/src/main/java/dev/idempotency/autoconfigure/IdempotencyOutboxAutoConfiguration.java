/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.util.ClassUtils;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.outbox.Outbox;

/**
 * {@link AutoConfiguration Auto-configuration} for the transactional outbox.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = { IdempotencyJdbcAutoConfiguration.class, IdempotencyAutoConfiguration.class })
@ConditionalOnIdempotency
@ConditionalOnBooleanProperty("idempotency.outbox.enabled")
@EnableConfigurationProperties(IdempotencyProperties.class)
@Import(OutboxConfiguration.class)
public final class IdempotencyOutboxAutoConfiguration {

	// Replaces the outbox when a library is missing. The application has enabled the
	// outbox, so the start fails with an explanation, also when the first bean that is
	// created injects an Outbox.
	@Bean
	@ConditionalOnMissingBean
	Outbox idempotencyOutboxRequirements(ConfigurableBeanFactory beanFactory) {
		boolean jdbc = ClassUtils.isPresent("org.springframework.jdbc.datasource.DataSourceUtils",
				beanFactory.getBeanClassLoader());
		throw new IdempotencyConfigurationException(
				"'idempotency.outbox.enabled' is 'true', but Spring " + (jdbc ? "Kafka" : "JDBC")
						+ " is not on the class path.",
				"Add " + (jdbc ? "'spring-boot-starter-kafka'" : "'spring-boot-starter-jdbc' and a JDBC driver")
						+ ", or set 'idempotency.outbox.enabled' to 'false'.");
	}

}
