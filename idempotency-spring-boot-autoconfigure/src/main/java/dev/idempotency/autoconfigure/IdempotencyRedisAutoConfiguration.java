package dev.idempotency.autoconfigure;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.resource.Delay;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.AnnotatedBeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.data.redis.autoconfigure.ClientResourcesBuilderCustomizer;
import org.springframework.context.Lifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.ConfigurationCondition;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotatedTypeMetadata;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.autoconfigure.IdempotencyProperties.OnEvictionPolicy;
import dev.idempotency.autoconfigure.IdempotencyProperties.StoreType;
import dev.idempotency.redis.RedisIdempotencyStore;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.IdempotencyListener;

/**
 * {@link AutoConfiguration Auto-configuration} for the Redis store and for the checks of
 * its servers. The servers of a {@link RedisIdempotencyStore} that the application
 * declares are checked as well.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = IdempotencyJdbcAutoConfiguration.class, before = IdempotencyAutoConfiguration.class,
		afterName = "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration")
@ConditionalOnClass({ RedisConnectionFactory.class, AbstractRedisClient.class })
@ConditionalOnIdempotency
@EnableConfigurationProperties(IdempotencyProperties.class)
public final class IdempotencyRedisAutoConfiguration {

	// After the connection factories, which have the phase 0, and before the listener
	// containers, which have Integer.MAX_VALUE - 100.
	private static final int CHECK_PHASE = Integer.MAX_VALUE / 2;

	// The application may declare its Redis store as an IdempotencyStore, so only the
	// object shows whether there are servers to check.
	@Bean
	@ConditionalOnBean(IdempotencyStore.class)
	LifecycleGroup redisIdempotencyServerCheck(ObjectProvider<IdempotencyStore> stores,
			IdempotencyProperties properties, ObjectProvider<IdempotencyListener> listeners) {
		IdempotencyListener listener = IdempotencyListener.all(listeners.orderedStream().toList());
		List<Lifecycle> checks = (stores.getIfUnique() instanceof RedisIdempotencyStore store)
				? List.of(store.serverCheck(properties.redis().onEvictionPolicy() == OnEvictionPolicy.REFUSE,
						(evictable) -> listener.evictionChecked(store.name(), evictable)))
				: List.of();
		return new LifecycleGroup(CHECK_PHASE, checks);
	}

	/**
	 * The store of this library.
	 */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnStoreType(StoreType.REDIS)
	@ConditionalOnBean(RedisConnectionFactory.class)
	@Conditional(NoOtherStore.class)
	static class Store {

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
						"Mark one of them as @Primary.");
			}
			if (!(factory instanceof LettuceConnectionFactory lettuce)) {
				throw new IdempotencyConfigurationException(
						"The Redis idempotency store requires Lettuce, but the RedisConnectionFactory bean is a "
								+ factory.getClass().getSimpleName() + ".",
						"Set 'spring.data.redis.client-type' to 'lettuce', or declare a LettuceConnectionFactory bean.");
			}
			// WAIT needs a separate connection, and the client of a master/replica
			// setup has no single address for it.
			if (properties.redis().replicas() > 0 && Binder.get(environment)
				.bind("spring.data.redis.masterreplica.nodes", Bindable.listOf(String.class))
				.isBound()) {
				throw new IdempotencyConfigurationException(
						"'idempotency.redis.replicas' cannot be combined with "
								+ "'spring.data.redis.masterreplica.nodes'.",
						"Remove 'idempotency.redis.replicas', or use Sentinel or a cluster.");
			}
			return new RedisIdempotencyStore(lettuce, properties.redis().keyPrefix(), properties.redis().replicas(),
					properties.store().timeout());
		}

		/**
		 * Limits the delay between two attempts to reconnect. By default the client
		 * doubles it up to 30 seconds, and consumption would stay paused for that long
		 * after the server is available again.
		 */
		@Configuration(proxyBeanMethods = false)
		@ConditionalOnClass(ClientResourcesBuilderCustomizer.class)
		static class Reconnection {

			private static final Duration MAX_DELAY = Duration.ofSeconds(1);

			// Applied first, so that customizers of the application can override it.
			@Bean
			@Order(Ordered.HIGHEST_PRECEDENCE)
			ClientResourcesBuilderCustomizer idempotencyRedisReconnection() {
				return (builder) -> builder
					.reconnectDelay(Delay.exponential(Duration.ZERO, MAX_DELAY, 2, TimeUnit.MILLISECONDS));
			}

		}

	}

	/**
	 * Matches unless the application declares an {@link IdempotencyStore}. The JDBC store
	 * of this library is identified by the class that declares it, because a bean of the
	 * application may have the same type and name.
	 */
	static final class NoOtherStore extends SpringBootCondition implements ConfigurationCondition {

		@Override
		public ConfigurationPhase getConfigurationPhase() {
			return ConfigurationPhase.REGISTER_BEAN;
		}

		@Override
		public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
			ConfigurableListableBeanFactory beanFactory = Objects.requireNonNull(context.getBeanFactory());
			List<String> others = Arrays.stream(beanFactory.getBeanNamesForType(IdempotencyStore.class, true, false))
				.filter((name) -> !isAutoConfigured(beanFactory, name))
				.toList();
			ConditionMessage.Builder message = ConditionMessage.forCondition("No other IdempotencyStore");
			return others.isEmpty() ? ConditionOutcome.match(message.because("there is none"))
					: ConditionOutcome.noMatch(message.found("store", "stores").items(others));
		}

		private static boolean isAutoConfigured(ConfigurableListableBeanFactory beanFactory, String name) {
			return beanFactory.containsBeanDefinition(name)
					&& beanFactory.getBeanDefinition(name) instanceof AnnotatedBeanDefinition definition
					&& definition.getFactoryMethodMetadata() != null
					&& definition.getFactoryMethodMetadata()
						.getDeclaringClassName()
						.equals(IdempotencyJdbcAutoConfiguration.class.getName());
		}

	}

}
