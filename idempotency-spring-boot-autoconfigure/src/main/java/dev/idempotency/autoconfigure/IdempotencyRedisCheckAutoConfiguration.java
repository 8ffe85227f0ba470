package dev.idempotency.autoconfigure;

import io.lettuce.core.AbstractRedisClient;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.data.redis.connection.RedisConnectionFactory;

import dev.idempotency.IdempotencyListener;
import dev.idempotency.IdempotencyListeners;
import dev.idempotency.IdempotencyStore;
import dev.idempotency.autoconfigure.IdempotencyProperties.OnEvictionPolicy;
import dev.idempotency.redis.RedisIdempotencyStore;
import dev.idempotency.redis.RedisServerCheck;

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

	// The application may declare its store by the interface: the object tells.
	@Bean
	@ConditionalOnMissingBean
	@Nullable RedisServerCheck redisIdempotencyServerCheck(ObjectProvider<IdempotencyStore> stores,
			IdempotencyProperties properties, ObjectProvider<IdempotencyListener> listeners) {
		return (stores.getIfUnique() instanceof RedisIdempotencyStore store)
				? new RedisServerCheck(store, properties.redis().onEvictionPolicy() == OnEvictionPolicy.REFUSE,
						new IdempotencyListeners(listeners.orderedStream().toList()))
				: null;
	}

}
