/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.lang.reflect.Method;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.transaction.support.ResourceTransactionManager;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.ReflectionUtils;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * Finds the transaction manager of a {@link DataSource}. A search by type would not
 * suffice: there may be several transaction managers, or only the one of Kafka.
 */
final class JdbcTransactionManagers {

	private JdbcTransactionManagers() {
	}

	// Calls 'onMissing' with the reason, without a period at its end, if there is no
	// usable one.
	static @Nullable PlatformTransactionManager find(ListableBeanFactory beanFactory, DataSource dataSource,
			@Nullable String name, String prefix, Consumer<String> onMissing) {
		if (name != null) {
			PlatformTransactionManager manager = Database.named(beanFactory, name, PlatformTransactionManager.class,
					prefix + ".jdbc.transaction-manager");
			IdempotencyConfigurationException.check(
					target(dataSource(manager)) == target(dataSource) && bindsConnection(manager),
					"The transaction manager '" + name
							+ "' does not manage the DataSource of the idempotency store or the outbox.",
					"Correct '" + prefix + ".jdbc.transaction-manager', or set '" + prefix
							+ ".jdbc.data-source' to the " + "DataSource of this transaction manager.");
			return manager;
		}
		Map<String, PlatformTransactionManager> all = beanFactory.getBeansOfType(PlatformTransactionManager.class,
				false, true);
		Map<String, PlatformTransactionManager> matching = new LinkedHashMap<>(all);
		matching.values().removeIf((manager) -> target(dataSource(manager)) != target(dataSource));
		IdempotencyConfigurationException.check(matching.size() <= 1,
				"Several transaction managers manage the DataSource of the idempotency store or the outbox: "
						+ matching.keySet() + ".",
				"Set '" + prefix + ".jdbc.transaction-manager' to one of them.");
		if (matching.isEmpty()) {
			// The search skips managers in creation. Their exception names the cycle.
			for (String bean : beanFactory.getBeanNamesForType(PlatformTransactionManager.class, false, true)) {
				beanFactory.getBean(bean);
			}
			onMissing.accept("No transaction manager manages the DataSource of the idempotency store or the outbox"
					+ (all.isEmpty() ? "" : ". Other transaction managers: " + all.keySet())
					+ ". When 'spring.kafka.producer.transaction-id-prefix' is set, Spring Boot creates no JDBC "
					+ "transaction manager and @Transactional uses the one of Kafka");
			return null;
		}
		Map.Entry<String, PlatformTransactionManager> found = matching.entrySet().iterator().next();
		if (!bindsConnection(found.getValue())) {
			onMissing.accept("The transaction manager '" + found.getKey() + "' does not bind a JDBC connection of the "
					+ "DataSource of the idempotency store or the outbox. With JPA, the dialect must expose its "
					+ "connection");
			return null;
		}
		return found.getValue();
	}

	// A record that is written on another connection would commit on its own, before the
	// writes of the handler.
	private static boolean bindsConnection(PlatformTransactionManager manager) {
		DataSource dataSource = dataSource(manager);
		TransactionStatus probe = manager
			.getTransaction(new DefaultTransactionDefinition(TransactionDefinition.PROPAGATION_REQUIRES_NEW));
		try {
			return dataSource != null && TransactionSynchronizationManager.hasResource(dataSource);
		}
		finally {
			manager.rollback(probe);
		}
	}

	// Return the object that a transaction manager binds connections to.
	static DataSource managed(@Nullable PlatformTransactionManager manager, DataSource dataSource) {
		DataSource managed = (manager != null) ? dataSource(manager) : null;
		return (managed != null) ? managed : dataSource;
	}

	// JDBC and JPA transaction managers share no type that has a DataSource.
	private static @Nullable DataSource dataSource(PlatformTransactionManager manager) {
		if (manager instanceof ResourceTransactionManager resources
				&& resources.getResourceFactory() instanceof DataSource found) {
			return found;
		}
		Method getter = ReflectionUtils.findMethod(manager.getClass(), "getDataSource");
		Object dataSource = (getter != null) ? ReflectionUtils.invokeMethod(getter, manager) : null;
		return (dataSource instanceof DataSource other) ? other : null;
	}

	private static @Nullable DataSource target(@Nullable DataSource dataSource) {
		DataSource target = dataSource;
		while (target instanceof DelegatingDataSource delegating && delegating.getTargetDataSource() != null) {
			target = delegating.getTargetDataSource();
		}
		return target;
	}

}
