package dev.idempotency.autoconfigure;

import io.lettuce.core.AbstractRedisClient;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.data.redis.connection.RedisConnectionFactory;

import dev.idempotency.redis.RedisIdempotencyStore;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.IdempotencyListener;

/**
 * {@link AutoConfiguration Auto-configuration} for the checks of the Redis servers, also
 * of a {@link RedisIdempotencyStore} that the application has defined.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = IdempotencyRedisAutoConfiguration.class)
@ConditionalOnClass({ RedisConnectionFactory.class, AbstractRedisClient.class })
@ConditionalOnIdempotency
@ConditionalOnBean(IdempotencyStore.class)
@EnableConfigurationProperties(IdempotencyProperties.class)
public final class IdempotencyRedisCheckAutoConfiguration {

	@Bean
	RedisServerCheckLifecycle redisIdempotencyServerCheck(ObjectProvider<IdempotencyStore> stores,
			IdempotencyProperties properties, ObjectProvider<IdempotencyListener> listeners) {
		return new RedisServerCheckLifecycle(stores, properties, listeners);
	}

}
