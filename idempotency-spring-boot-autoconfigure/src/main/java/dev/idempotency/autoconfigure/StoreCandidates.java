package dev.idempotency.autoconfigure;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.autoconfigure.IdempotencyProperties.StoreType;

/**
 * Which store is meant, where there are several candidates or none.
 */
final class StoreCandidates {

	static final String JDBC = "jdbcIdempotencyStore";

	static final String REDIS = "redisIdempotencyStore";

	private StoreCandidates() {
	}

	// Before either of them has touched its server.
	static void requireOne(BeanFactory beanFactory) {
		if (beanFactory.containsBean(JDBC) && beanFactory.containsBean(REDIS)) {
			throw new IdempotencyConfigurationException(
					"There are two candidates for the idempotency store: a DataSource and a RedisConnectionFactory.",
					"Set 'idempotency.store.type' to 'jdbc' or 'redis'.");
		}
	}

	static IdempotencyConfigurationException missing(@Nullable StoreType type) {
		if (type == StoreType.JDBC) {
			return new IdempotencyConfigurationException(
					"'idempotency.store.type' is 'jdbc', but there is no DataSource with Spring JDBC.",
					"Add 'spring-boot-starter-jdbc' and a JDBC driver, and configure a DataSource.");
		}
		if (type == StoreType.REDIS) {
			return new IdempotencyConfigurationException(
					"'idempotency.store.type' is 'redis', but there is no RedisConnectionFactory of Lettuce.",
					"Add 'spring-boot-starter-data-redis' and configure 'spring.data.redis', or define a "
							+ "LettuceConnectionFactory bean.");
		}
		return new IdempotencyConfigurationException("There are idempotent listeners, but no idempotency store.",
				"Add 'spring-boot-starter-jdbc' and configure a DataSource, add 'spring-boot-starter-data-redis' and "
						+ "configure 'spring.data.redis', or declare an IdempotencyStore bean.");
	}

}
