package dev.idempotency.autoconfigure;

import java.lang.annotation.Annotation;
import java.util.Arrays;
import java.util.List;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
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
		DataSource dataSource = (name != null) ? named(beanFactory, name, DataSource.class, property)
				: beanFactory.getBeanProvider(DataSource.class).getIfUnique();
		if (dataSource == null) {
			throw new IdempotencyConfigurationException(
					"There are several DataSource beans for the idempotency store or the outbox: "
							+ List.of(beanFactory.getBeanNamesForType(DataSource.class)) + ".",
					"Set '" + property + "' to one of them, or mark one as @Primary.");
		}
		JdbcSchemaValidation.requireTarget(dataSource);
		return dataSource;
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

	/**
	 * Return the {@link DataSource} with which migrations run.
	 */
	static DataSource migrations(ConfigurableListableBeanFactory beanFactory, DataSource dataSource) {
		requireFlyway(beanFactory.getBeanClassLoader());
		if (!ClassUtils.isPresent(FLYWAY_DATA_SOURCE, beanFactory.getBeanClassLoader())) {
			return dataSource;
		}
		Class<? extends Annotation> annotation = ClassUtils
			.resolveClassName(FLYWAY_DATA_SOURCE, beanFactory.getBeanClassLoader())
			.asSubclass(Annotation.class);
		return Arrays.stream(beanFactory.getBeanNamesForAnnotation(annotation))
			.map((name) -> beanFactory.getBean(name, DataSource.class))
			.filter((migrations) -> JdbcSchemaMigration.isSameDatabase(dataSource, migrations))
			.findFirst()
			.orElse(dataSource);
	}

	private static void requireFlyway(@Nullable ClassLoader classLoader) {
		if (!ClassUtils.isPresent("org.flywaydb.core.Flyway", classLoader)) {
			throw new IdempotencyConfigurationException(
					"'idempotency.jdbc.schema' is 'migrate', but Flyway is not on the class path.",
					"Add 'flyway-core' and its module for your database, or create the table by hand and set "
							+ "'idempotency.jdbc.schema' to 'validate'.");
		}
	}

}
