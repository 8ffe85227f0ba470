package dev.idempotency.autoconfigure;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.core.env.Environment;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.autoconfigure.IdempotencyProperties.Redis;
import dev.idempotency.autoconfigure.IdempotencyStoreFactory.Definition;
import dev.idempotency.redis.RedisIdempotencyStore;
import dev.idempotency.store.IdempotencyStore;

/**
 * Creates Redis stores.
 */
final class RedisStoreFactory {

	static final String TYPE = "redis";

	private RedisStoreFactory() {
	}

	static IdempotencyStore create(ListableBeanFactory beanFactory, Environment environment, Definition definition) {
		Redis redis = definition.redis();
		RedisConnectionFactory factory = Database.find(beanFactory, RedisConnectionFactory.class,
				"the idempotency store", redis.connectionFactory(), definition.property("redis.connection-factory"));
		if (!(factory instanceof LettuceConnectionFactory lettuce)) {
			throw new IdempotencyConfigurationException(
					"The Redis idempotency store requires Lettuce, but the RedisConnectionFactory bean is a "
							+ factory.getClass().getSimpleName() + ".",
					"Set 'spring.data.redis.client-type' to 'lettuce', or declare a LettuceConnectionFactory bean.");
		}
		// WAIT needs a separate connection, and the client of a master/replica
		// setup has no single address for it.
		if (redis.replicas() > 0 && Binder.get(environment)
			.bind("spring.data.redis.masterreplica.nodes", Bindable.listOf(String.class))
			.isBound()) {
			throw new IdempotencyConfigurationException(
					"'" + definition.property("redis.replicas")
							+ "' cannot be combined with 'spring.data.redis.masterreplica.nodes'.",
					"Remove '" + definition.property("redis.replicas") + "', or use Sentinel or a cluster.");
		}
		return new RedisIdempotencyStore(lettuce, redis.keyPrefix(), redis.replicas(), definition.timeout());
	}

}
