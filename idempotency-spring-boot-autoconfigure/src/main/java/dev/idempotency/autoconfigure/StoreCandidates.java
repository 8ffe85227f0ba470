package dev.idempotency.autoconfigure;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.autoconfigure.IdempotencyProperties.StoreType;

/**
 * Reports stores that cannot be selected, because there are two candidates or none.
 */
final class StoreCandidates {

	static final String JDBC = "jdbcIdempotencyStore";

	static final String REDIS = "redisIdempotencyStore";

	private StoreCandidates() {
	}

	// Called by both stores before they connect to their servers.
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
					"'idempotency.store.type' is 'jdbc', but there is no DataSource bean, or Spring JDBC is missing.",
					"Add 'spring-boot-starter-jdbc' and a JDBC driver, and configure a DataSource.");
		}
		if (type == StoreType.REDIS) {
			return new IdempotencyConfigurationException(
					"'idempotency.store.type' is 'redis', but there is no RedisConnectionFactory bean of Lettuce.",
					"Add 'spring-boot-starter-data-redis' and set 'spring.data.redis.*', or declare a "
							+ "LettuceConnectionFactory bean.");
		}
		return new IdempotencyConfigurationException(
				"The application has idempotent listeners, but no idempotency store.",
				"Add 'spring-boot-starter-jdbc' and configure a DataSource, add 'spring-boot-starter-data-redis' and "
						+ "set 'spring.data.redis.*', or declare an IdempotencyStore bean.");
	}

}
