/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.resource.Delay;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.data.redis.autoconfigure.ClientResourcesBuilderCustomizer;
import org.springframework.boot.data.redis.autoconfigure.LettuceClientOptionsBuilderCustomizer;
import org.springframework.context.Lifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.core.env.Environment;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.autoconfigure.IdempotencyProperties.EvictionPolicy;
import dev.idempotency.autoconfigure.IdempotencyProperties.Redis;
import dev.idempotency.autoconfigure.IdempotencyStoreFactory.Definition;
import dev.idempotency.redis.RedisIdempotencyStore;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.Observers;

/**
 * {@link AutoConfiguration Auto-configuration} for Redis stores and for the checks of
 * their servers. The servers of a {@link RedisIdempotencyStore} that the application
 * declares are checked as well.
 *
 * @since 0.1.0
 */
@AutoConfiguration(before = IdempotencyAutoConfiguration.class,
		afterName = "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration")
@ConditionalOnIdempotency
@EnableConfigurationProperties(IdempotencyProperties.class)
public final class IdempotencyRedisAutoConfiguration {

	/**
	 * The stores and the checks of their servers.
	 */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass({ RedisConnectionFactory.class, AbstractRedisClient.class })
	static class Stores {

		@Bean
		@ConditionalOnBean(RedisConnectionFactory.class)
		IdempotencyStoreFactory redisIdempotencyStoreFactory(ListableBeanFactory beanFactory, Environment environment) {
			return new StoreType(StoreType.REDIS, "a RedisConnectionFactory",
					(definition) -> create(beanFactory, environment, definition));
		}

		private static IdempotencyStore create(ListableBeanFactory beanFactory, Environment environment,
				Definition definition) {
			Redis redis = definition.redis();
			RedisConnectionFactory factory = Database.find(beanFactory, RedisConnectionFactory.class,
					"the idempotency store", redis.connectionFactory(),
					definition.property("redis.connection-factory"));
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

		// The application may declare its Redis store as an IdempotencyStore, so only
		// the object shows whether there are servers to check.
		@Bean
		LifecycleGroup redisIdempotencyServerCheck(StoreRegistry stores, IdempotencyProperties properties,
				BeanFactory beanFactory) {
			Observers observers = Observers.of(beanFactory);
			List<Lifecycle> checks = new ArrayList<>();
			stores.templates().forEach((name, template) -> {
				if (StoreTarget.of(template.store()) instanceof RedisIdempotencyStore store) {
					checks.add(store.serverCheck(
							stores.definition(name).redis().onEvictionPolicy() == EvictionPolicy.REFUSE,
							(evictable) -> observers
								.store((observer) -> observer.evictionChecked(template.name(), evictable))));
				}
			});
			return new LifecycleGroup(LifecycleGroup.BEFORE_CONTAINERS, checks);
		}

	}

	/**
	 * Customizes the client. The customizers of the library are applied first, so that
	 * those of the application can override them.
	 */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass({ RedisConnectionFactory.class, AbstractRedisClient.class,
			ClientResourcesBuilderCustomizer.class })
	@ConditionalOnStoreType(StoreType.REDIS)
	static class Client {

		private static final Duration MAX_DELAY = Duration.ofSeconds(1);

		// That of Lettuce 7. With the 30 seconds of Lettuce 6, a failover that follows
		// another refresh would be noticed late.
		private static final Duration MIN_INTERVAL = Duration.ofSeconds(5);

		// By default the client doubles the delay between two attempts up to 30 seconds,
		// and consumption would stay paused for that long after the server is available.
		@Bean
		@Order(Ordered.HIGHEST_PRECEDENCE)
		ClientResourcesBuilderCustomizer idempotencyRedisReconnection() {
			return (builder) -> builder
				.reconnectDelay(Delay.exponential(Duration.ZERO, MAX_DELAY, 2, TimeUnit.MILLISECONDS));
		}

		// Lets the client of a cluster look for the new master after a failover, as that
		// of Lettuce 7 does by default. Lettuce 6, the version of Spring Boot 4.0, would
		// send commands to the lost master until it is back.
		@Bean
		@ConditionalOnBooleanProperty(name = "spring.data.redis.lettuce.cluster.refresh.adaptive",
				matchIfMissing = true)
		@Order(Ordered.HIGHEST_PRECEDENCE)
		LettuceClientOptionsBuilderCustomizer idempotencyRedisTopology() {
			return (builder) -> {
				if (builder instanceof ClusterClientOptions.Builder cluster) {
					refresh(cluster);
				}
			};
		}

		private static void refresh(ClusterClientOptions.Builder builder) {
			ClusterTopologyRefreshOptions known = builder.build().getTopologyRefreshOptions();
			if (!known.getAdaptiveRefreshTriggers().isEmpty()) {
				return;
			}
			ClusterTopologyRefreshOptions.Builder refresh = ClusterTopologyRefreshOptions.builder()
				.enableAllAdaptiveRefreshTriggers()
				.adaptiveRefreshTriggersTimeout(MIN_INTERVAL)
				.closeStaleConnections(known.isCloseStaleConnections())
				.dynamicRefreshSources(known.useDynamicRefreshSources());
			if (known.isPeriodicRefreshEnabled()) {
				refresh.enablePeriodicRefresh(known.getRefreshPeriod());
			}
			builder.topologyRefreshOptions(refresh.build());
		}

	}

}
