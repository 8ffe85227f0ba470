/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.util.Arrays;
import java.util.List;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.flyway.autoconfigure.FlywayDataSource;
import org.springframework.util.ClassUtils;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.jdbc.JdbcSchemaMigration;
import dev.idempotency.jdbc.JdbcSchemaValidation;

/**
 * Finds the {@link DataSource} of the store and of the outbox.
 */
final class Database {

	private static final String FLYWAY_DATA_SOURCE = "org.springframework.boot.flyway.autoconfigure.FlywayDataSource";

	private Database() {
	}

	static DataSource find(ListableBeanFactory beanFactory, @Nullable String name, String property) {
		DataSource dataSource = find(beanFactory, DataSource.class, "the idempotency store or the outbox", name,
				property);
		JdbcSchemaValidation.requireTarget(dataSource);
		return dataSource;
	}

	static <T> T find(ListableBeanFactory beanFactory, Class<T> type, String user, @Nullable String name,
			String property) {
		T bean = (name != null) ? named(beanFactory, name, type, property)
				: beanFactory.getBeanProvider(type).getIfUnique();
		if (bean == null) {
			throw new IdempotencyConfigurationException(
					"There are several " + type.getSimpleName() + " beans for " + user + ": "
							+ List.of(beanFactory.getBeanNamesForType(type)) + ".",
					"Set '" + property + "' to one of them, or mark one as @Primary.");
		}
		return bean;
	}

	static <T> T named(ListableBeanFactory beanFactory, String name, Class<T> type, String property) {
		if (!beanFactory.containsBean(name) || !beanFactory.isTypeMatch(name, type)) {
			throw new IdempotencyConfigurationException(
					"'" + property + "' is '" + name + "', but there is no " + type.getSimpleName()
							+ " bean with this name.",
					"Set '" + property + "' to one of these beans: " + List.of(beanFactory.getBeanNamesForType(type))
							+ ".");
		}
		return beanFactory.getBean(name, type);
	}

	static DataSource migrations(ConfigurableListableBeanFactory beanFactory, DataSource dataSource) {
		IdempotencyConfigurationException.check(
				ClassUtils.isPresent("org.flywaydb.core.Flyway", beanFactory.getBeanClassLoader()),
				"'idempotency.jdbc.schema' is 'migrate', but Flyway is not on the class path.",
				"Add 'flyway-core' and its module for your database, or create the tables with the change logs for "
						+ "Liquibase in 'dev/idempotency/jdbc/liquibase' or by hand, and set 'idempotency.jdbc.schema' "
						+ "to 'validate'.");
		if (!ClassUtils.isPresent(FLYWAY_DATA_SOURCE, beanFactory.getBeanClassLoader())) {
			return dataSource;
		}
		return Arrays.stream(beanFactory.getBeanNamesForAnnotation(FlywayDataSource.class))
			.map((name) -> beanFactory.getBean(name, DataSource.class))
			.filter((migrations) -> JdbcSchemaMigration.isSameDatabase(dataSource, migrations))
			.findFirst()
			.orElse(dataSource);
	}

}
