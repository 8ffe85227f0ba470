package dev.idempotency.autoconfigure;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.core.env.Environment;

import dev.idempotency.template.ExceptionCauses;

/**
 * Explains why an application with the Redis store fails to start without a database. It
 * precedes the analyzer of Spring Boot, which does not know that the database is unused.
 */
@Order(Ordered.HIGHEST_PRECEDENCE)
final class UnusedDataSourceFailureAnalyzer extends AbstractFailureAnalyzer<BeanCreationException> {

	// The exception class is package-private.
	private static final String NOT_CONFIGURED = "org.springframework.boot.jdbc.autoconfigure.DataSourceProperties"
			+ "$DataSourceBeanCreationException";

	private final Environment environment;

	UnusedDataSourceFailureAnalyzer(Environment environment) {
		this.environment = environment;
	}

	@Override
	protected @Nullable FailureAnalysis analyze(Throwable rootFailure, BeanCreationException cause) {
		return (isNotConfigured(cause) && isRedisChosen()) ? new FailureAnalysis(
				"'idempotency.store.type' is 'redis' and no database is configured, but Spring JDBC is on the class "
						+ "path, so Spring Boot creates a DataSource.",
				"If the application uses no relational database, replace the dependency "
						+ "'idempotency-spring-boot-starter' with 'idempotency-spring-boot-starter-redis', which does "
						+ "not contain JDBC. Otherwise set 'spring.datasource.url'.",
				cause) : null;
	}

	private static boolean isNotConfigured(Throwable failure) {
		return ExceptionCauses.find(failure, (cause) -> cause.getClass().getName().equals(NOT_CONFIGURED)) != null;
	}

	private boolean isRedisChosen() {
		StoreNames stores = StoreNames.of(this.environment);
		return stores.mayHave(RedisStoreFactory.TYPE, false) && !stores.mayHave(JdbcStoreFactory.TYPE, false);
	}

}
