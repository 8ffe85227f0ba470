/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import javax.sql.DataSource;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.transaction.PlatformTransactionManager;

import dev.idempotency.autoconfigure.IdempotencyProperties.Jdbc;
import dev.idempotency.autoconfigure.IdempotencyProperties.Schema;
import dev.idempotency.autoconfigure.IdempotencyStoreFactory.Definition;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.jdbc.JdbcSchemaMigration;
import dev.idempotency.jdbc.JdbcSchemaValidation;
import dev.idempotency.jdbc.Layout;
import dev.idempotency.store.IdempotencyStore;

/**
 * {@link AutoConfiguration Auto-configuration} for stores in relational databases.
 *
 * @since 0.1.0
 */
@AutoConfiguration(before = IdempotencyAutoConfiguration.class,
		afterName = { "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration",
				"org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration",
				"org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration",
				"org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration",
				"org.springframework.boot.liquibase.autoconfigure.LiquibaseAutoConfiguration",
				"org.springframework.boot.kafka.autoconfigure.KafkaAutoConfiguration" })
@ConditionalOnClass({ DataSource.class, DataSourceUtils.class })
@ConditionalOnBean(DataSource.class)
@ConditionalOnIdempotency
@EnableConfigurationProperties(IdempotencyProperties.class)
public final class IdempotencyJdbcAutoConfiguration {

	private static final Log logger = LogFactory.getLog(IdempotencyJdbcAutoConfiguration.class);

	@Bean
	IdempotencyStoreFactory jdbcIdempotencyStoreFactory(ConfigurableListableBeanFactory beanFactory,
			IdempotencyProperties properties) {
		return new StoreType(StoreType.JDBC, "a DataSource",
				(definition) -> create(beanFactory, properties.cleanup().enabled(), definition));
	}

	private static IdempotencyStore create(ConfigurableListableBeanFactory beanFactory, boolean cleanup,
			Definition definition) {
		Jdbc jdbc = definition.jdbc();
		String table = jdbc.table();
		DataSource dataSource = Database.find(beanFactory, jdbc.dataSource(), definition.property("jdbc.data-source"));
		if (jdbc.schema() == Schema.MIGRATE) {
			JdbcSchemaMigration.migrate(dataSource, Database.migrations(beanFactory, dataSource), table, jdbc.layout());
		}
		JdbcSchemaValidation.validate(dataSource, table, jdbc.layout(), jdbc.schema() != Schema.NONE);
		if (jdbc.layout() == Layout.PARTITIONED && cleanup) {
			JdbcSchemaValidation.requireMaintenance(dataSource, table);
		}
		NetworkTimeouts.check(dataSource, definition.name());
		PlatformTransactionManager manager = JdbcTransactionManagers.find(beanFactory, dataSource,
				jdbc.transactionManager(), definition.prefix(), (problem) -> {
				});
		DataSource used = JdbcTransactionManagers.managed(manager, dataSource);
		JdbcIdempotencyStore store = new JdbcIdempotencyStore(used, table, definition.timeout(), jdbc.layout(),
				jdbc.partitionInterval(), RenewalDataSource.forPool(used, definition.timeout()));
		if (store.leaseProblem() != null) {
			logger.warn("The DataSource of the idempotency store selects its database by thread "
					+ "(AbstractRoutingDataSource). Only transactional mode is possible, a key is stored in one of the "
					+ "databases only, and migration, cleanup, health and the endpoint use the default database only. "
					+ "Create the table '" + table
					+ "' in each database, and delete expired records there periodically");
		}
		return store;
	}

}
