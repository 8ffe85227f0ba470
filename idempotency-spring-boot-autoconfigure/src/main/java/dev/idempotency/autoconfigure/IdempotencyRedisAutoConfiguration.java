package dev.idempotency.autoconfigure;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.resource.Delay;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.data.redis.autoconfigure.ClientResourcesBuilderCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.core.env.Environment;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.autoconfigure.IdempotencyProperties.StoreType;
import dev.idempotency.redis.RedisIdempotencyStore;

/**
 * {@link AutoConfiguration Auto-configuration} for the store in Redis.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = IdempotencyJdbcAutoConfiguration.class, before = IdempotencyAutoConfiguration.class,
		afterName = "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration")
@ConditionalOnClass({ RedisConnectionFactory.class, AbstractRedisClient.class })
@ConditionalOnIdempotency
@ConditionalOnStoreType(StoreType.REDIS)
@ConditionalOnBean(RedisConnectionFactory.class)
@Conditional(OnNoOtherStoreCondition.class)
@EnableConfigurationProperties(IdempotencyProperties.class)
public final class IdempotencyRedisAutoConfiguration {

	@Bean
	RedisIdempotencyStore redisIdempotencyStore(ListableBeanFactory beanFactory,
			ObjectProvider<RedisConnectionFactory> factories, IdempotencyProperties properties,
			Environment environment) {
		StoreCandidates.requireOne(beanFactory);
		RedisConnectionFactory factory = factories.getIfUnique();
		if (factory == null) {
			throw new IdempotencyConfigurationException(
					"There are several RedisConnectionFactory beans for the idempotency store: "
							+ List.of(beanFactory.getBeanNamesForType(RedisConnectionFactory.class)) + ".",
					"Make one @Primary.");
		}
		if (!(factory instanceof LettuceConnectionFactory lettuce)) {
			throw new IdempotencyConfigurationException(
					"The Redis idempotency store needs Lettuce, but the RedisConnectionFactory is a "
							+ factory.getClass().getSimpleName() + ".",
					"Set 'spring.data.redis.client-type' to 'lettuce', or define a LettuceConnectionFactory bean.");
		}
		// Its client has no address to open the connection to that WAIT needs.
		if (properties.redis().replicas() > 0 && Binder.get(environment)
			.bind("spring.data.redis.masterreplica.nodes", Bindable.listOf(String.class))
			.isBound()) {
			throw new IdempotencyConfigurationException(
					"'idempotency.redis.replicas' does not work with 'spring.data.redis.masterreplica.nodes'.",
					"Remove 'idempotency.redis.replicas', or use Sentinel or a cluster.");
		}
		return new RedisIdempotencyStore(lettuce, properties.redis().keyPrefix(), properties.redis().replicas(),
				properties.store().timeout());
	}

	/**
	 * By default the client doubles the time between two attempts to connect, up to half
	 * a minute: that is how long consumption would wait for nothing when the server is
	 * back.
	 */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(ClientResourcesBuilderCustomizer.class)
	static class Reconnection {

		private static final Duration LONGEST = Duration.ofSeconds(1);

		// First, so that the application's own customizers have the last word.
		@Bean
		@Order(Ordered.HIGHEST_PRECEDENCE)
		ClientResourcesBuilderCustomizer idempotencyRedisReconnection() {
			return (builder) -> builder
				.reconnectDelay(Delay.exponential(Duration.ZERO, LONGEST, 2, TimeUnit.MILLISECONDS));
		}

	}

}
