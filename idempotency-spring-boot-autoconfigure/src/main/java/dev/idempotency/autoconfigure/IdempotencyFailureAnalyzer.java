/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.sql.SQLException;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.core.env.Environment;

import dev.idempotency.ExceptionCauses;
import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.outbox.Outbox;

/**
 * Reports a configuration that cannot work, or a database that is unavailable at
 * start-up, with a description and an action. It precedes the analyzers of Spring Boot,
 * which do not know that the application with the Redis store uses no database.
 *
 * @param environment the properties of the application
 */
@Order(Ordered.HIGHEST_PRECEDENCE)
record IdempotencyFailureAnalyzer(Environment environment) implements FailureAnalyzer {

	// The exception class is package-private.
	private static final String NOT_CONFIGURED = "org.springframework.boot.jdbc.autoconfigure.DataSourceProperties"
			+ "$DataSourceBeanCreationException";

	private static final String OUTBOX = "idempotency.outbox.enabled";

	@Override
	public @Nullable FailureAnalysis analyze(Throwable failure) {
		IdempotencyConfigurationException mistake = ExceptionCauses.find(IdempotencyConfigurationException.class,
				failure);
		if (mistake != null) {
			return new FailureAnalysis(mistake.getMessage(), mistake.action(), mistake);
		}
		NoSuchBeanDefinitionException missing = ExceptionCauses.find(NoSuchBeanDefinitionException.class, failure);
		if (missing != null && missing.getBeanType() == Outbox.class
				&& !this.environment.getProperty(OUTBOX, Boolean.class, false)) {
			return new FailureAnalysis("A bean needs an Outbox, but the outbox is off.",
					"Set '" + OUTBOX + "' to true. The outbox needs a JDBC store. To start without it, inject "
							+ "ObjectProvider<Outbox> instead.",
					missing);
		}
		Throwable outage = ExceptionCauses.find(failure,
				(cause) -> cause instanceof IdempotencyStoreUnavailableException
						&& cause.getCause() instanceof SQLException);
		if (outage != null) {
			return new FailureAnalysis(outage.getMessage(),
					"Start the database, or correct the URL, the user and the password of its DataSource "
							+ "('spring.datasource.*').",
					outage);
		}
		Throwable unused = ExceptionCauses.find(failure, (cause) -> cause.getClass().getName().equals(NOT_CONFIGURED));
		return (unused != null && isRedisChosen()) ? new FailureAnalysis(
				"'idempotency.store.type' is 'redis' and no database is configured, but Spring JDBC is on the class "
						+ "path, so Spring Boot creates a DataSource.",
				"If the application uses no relational database, replace the dependency "
						+ "'idempotency-spring-boot-starter' with 'idempotency-spring-boot-starter-redis', which does "
						+ "not contain JDBC. Otherwise set 'spring.datasource.url'.",
				unused) : null;
	}

	private boolean isRedisChosen() {
		StoreNames stores = StoreNames.of(this.environment);
		return stores.mayHave(StoreType.REDIS, false) && !stores.mayHave(StoreType.JDBC, false);
	}

}
