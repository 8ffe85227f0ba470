package dev.idempotency.autoconfigure;

import java.util.List;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.util.ClassUtils;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.jdbc.JdbcSchemaValidation;

/**
 * The database of the store and of the outbox.
 */
final class Database {

	private Database() {
	}

	static DataSource find(ListableBeanFactory beanFactory, ObjectProvider<DataSource> dataSources,
			@Nullable String name) {
		DataSource dataSource = (name != null) ? beanFactory.getBean(name, DataSource.class)
				: dataSources.getIfUnique();
		if (dataSource == null) {
			throw new IdempotencyConfigurationException(
					"There are several DataSources for the idempotency store or the outbox: "
							+ List.of(beanFactory.getBeanNamesForType(DataSource.class)) + ".",
					"Name one with 'idempotency.jdbc.data-source', or make one @Primary.");
		}
		JdbcSchemaValidation.requireTarget(dataSource);
		return dataSource;
	}

	static void requireFlyway(@Nullable ClassLoader classLoader) {
		if (!ClassUtils.isPresent("org.flywaydb.core.Flyway", classLoader)) {
			throw new IdempotencyConfigurationException(
					"'idempotency.jdbc.schema' is 'migrate', but there is no Flyway on the class path.",
					"Add 'flyway-core' and its module for your database, or create the table yourself and set "
							+ "'idempotency.jdbc.schema' to 'validate'.");
		}
	}

}
