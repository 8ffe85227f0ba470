/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import org.slf4j.MDC;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.Environment;
import org.springframework.util.ClassUtils;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.SimpleLifecycle;
import dev.idempotency.autoconfigure.IdempotencyProperties.Cache;
import dev.idempotency.caffeine.CaffeineCompletionCache;
import dev.idempotency.cleanup.CleanupJob;
import dev.idempotency.jackson.JacksonSerialization;
import dev.idempotency.resilience4j.Resilience4jStoreCircuit;
import dev.idempotency.slf4j.MdcOperationContext;
import dev.idempotency.store.ExpiredRecords;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.CompletionCache;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.Observers;
import dev.idempotency.template.Serialization;
import dev.idempotency.template.StoreCircuit;

/**
 * {@link AutoConfiguration Auto-configuration} for the stores and an
 * {@link IdempotencyTemplate} for each, for the caches, the circuit breakers, the logging
 * context and the serialization that they use, and for the deletion of expired records.
 *
 * @since 0.1.0
 */
@AutoConfiguration(afterName = "org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration")
@ConditionalOnIdempotency
@EnableConfigurationProperties(IdempotencyProperties.class)
@Import(NamedStores.class)
public final class IdempotencyAutoConfiguration {

	@Bean
	UnknownProperties idempotencyUnknownProperties(Environment environment) {
		return new UnknownProperties(environment);
	}

	// The migrations of the application run first. Flyway refuses to run them in a schema
	// that already contains a table of this library.
	@Bean(StoreRegistry.BEAN)
	@DependsOnDatabaseInitialization
	StoreRegistry idempotencyStoreRegistry(ConfigurableListableBeanFactory beanFactory,
			IdempotencyProperties properties) {
		return new StoreRegistry(beanFactory, properties);
	}

	@Bean
	@ConditionalOnBean(IdempotencyStoreFactory.class)
	@ConditionalOnMissingBean
	IdempotencyStore idempotencyStore(StoreRegistry stores) {
		return stores.createStore(StoreNames.DEFAULT);
	}

	@Bean
	@ConditionalOnBean(IdempotencyStore.class)
	@ConditionalOnMissingBean
	IdempotencyTemplate idempotencyTemplate(ListableBeanFactory beanFactory, ObjectProvider<IdempotencyStore> stores,
			StoreRegistry registry, ObjectProvider<StoreCircuit> circuit, ObjectProvider<CompletionCache> cache) {
		IdempotencyStore store = stores.getIfUnique();
		if (store == null) {
			throw new IdempotencyConfigurationException(
					"There are several IdempotencyStore beans: "
							+ List.of(beanFactory.getBeanNamesForType(IdempotencyStore.class)) + ".",
					"Keep one of them, mark one as @Primary, or declare the others with 'defaultCandidate = false'.");
		}
		return registry.createTemplate(StoreNames.DEFAULT, store,
				circuit.getIfAvailable(() -> StoreCircuit.ALWAYS_CLOSED),
				cache.getIfAvailable(() -> CompletionCache.NONE));
	}

	// Records pending completions when the application stops, after the listener
	// containers have stopped and before the connections of the store close.
	@Bean
	@ConditionalOnBean(IdempotencyTemplate.class)
	LifecycleGroup idempotencyTemplateLifecycle(StoreRegistry stores) {
		Collection<IdempotencyTemplate> templates = stores.distinctTemplates();
		return new LifecycleGroup(LifecycleGroup.BEFORE_CONTAINERS, List.of(new SimpleLifecycle() {

			@Override
			public void stop() {
				super.stop();
				templates.forEach(IdempotencyTemplate::settle);
			}

		}));
	}

	@Bean
	@ConditionalOnBooleanProperty(name = "idempotency.cleanup.enabled", matchIfMissing = true)
	@ConditionalOnBean(IdempotencyTemplate.class)
	LifecycleGroup idempotencyStoreCleanup(StoreRegistry stores, IdempotencyProperties properties,
			BeanFactory beanFactory, ObjectProvider<CleanupJob> own) {
		// Its own job cleans up the default store of the application.
		boolean ownJob = own.stream().findAny().isPresent();
		Observers observers = Observers.of(beanFactory);
		List<CleanupJob> jobs = new ArrayList<>();
		stores.templates().forEach((name, template) -> {
			boolean isDefault = name.equals(StoreNames.DEFAULT);
			if (StoreTarget.of(template.store()) instanceof ExpiredRecords records && !(isDefault && ownJob)) {
				// Stores in several databases may have tables with the same name.
				jobs.add(new CleanupJob(isDefault ? records.table() : name + ':' + records.table(), records,
						properties.cleanup().settings(), observers));
			}
		});
		return new LifecycleGroup(SmartLifecycle.DEFAULT_PHASE, jobs);
	}

	// The application has enabled the cache, so a missing library is an error.
	@Bean
	@ConditionalOnBooleanProperty("idempotency.cache.enabled")
	StoreCaches idempotencyStoreCaches(IdempotencyProperties properties, ConfigurableBeanFactory beanFactory) {
		Cache cache = properties.cache();
		IdempotencyConfigurationException.check(
				ClassUtils.isPresent("com.github.benmanes.caffeine.cache.Caffeine", beanFactory.getBeanClassLoader()),
				"'idempotency.cache.enabled' is 'true', but Caffeine is not on the class path.",
				"Add 'com.github.ben-manes.caffeine:caffeine', or remove the property.");
		IdempotencyConfigurationException.check(cache.maximumSize().toBytes() > 0 && cache.timeToLive().toMillis() > 0,
				"The local cache of completed keys has the maximum size " + cache.maximumSize()
						+ " and the time to live " + cache.timeToLive() + ".",
				"Set 'idempotency.cache.maximum-size' and 'idempotency.cache.time-to-live' to positive values.");
		return () -> new CaffeineCompletionCache(cache.maximumSize().toBytes(), cache.timeToLive());
	}

	@Bean
	@ConditionalOnBean(StoreCaches.class)
	@ConditionalOnMissingBean
	CompletionCache idempotencyCompletionCache(StoreCaches caches) {
		return caches.create();
	}

	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(CircuitBreaker.class)
	@ConditionalOnBooleanProperty(name = "idempotency.circuit-breaker.enabled", matchIfMissing = true)
	static class Circuit {

		// The circuit breakers themselves are not beans, so that they do not interfere
		// with the registry of the application.
		@Bean
		StoreCircuits idempotencyStoreCircuits(IdempotencyProperties properties) {
			CircuitBreakerConfig config = config(properties.circuitBreaker());
			return (name) -> new Resilience4jStoreCircuit(CircuitBreaker.of("idempotency-store-" + name, config));
		}

		@Bean
		@ConditionalOnMissingBean
		StoreCircuit idempotencyStoreCircuit(StoreCircuits circuits) {
			return circuits.create(StoreNames.DEFAULT);
		}

		private static CircuitBreakerConfig config(IdempotencyProperties.CircuitBreaker settings) {
			try {
				return CircuitBreakerConfig.custom()
					.slidingWindowSize(settings.slidingWindowSize())
					.minimumNumberOfCalls(settings.minimumNumberOfCalls())
					.failureRateThreshold(settings.failureRateThreshold())
					.waitDurationInOpenState(settings.waitDurationInOpenState())
					.permittedNumberOfCallsInHalfOpenState(settings.permittedNumberOfCallsInHalfOpenState())
					.build();
			}
			catch (IllegalArgumentException ex) {
				throw new IdempotencyConfigurationException(
						"The circuit breaker of the idempotency store cannot be created: " + ex.getMessage() + ".",
						"Correct 'idempotency.circuit-breaker.*', or set 'idempotency.circuit-breaker.enabled' to 'false'.");
			}
		}

	}

	/**
	 * The key and the scope of an operation in the logging context (MDC).
	 */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(MDC.class)
	@ConditionalOnBooleanProperty(name = "idempotency.mdc.enabled", matchIfMissing = true)
	static class Logging {

		@Bean
		@ConditionalOnMissingBean
		MdcOperationContext idempotencyMdcOperationContext() {
			return new MdcOperationContext();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(JsonMapper.class)
	static class Json {

		@Bean
		@ConditionalOnMissingBean(Serialization.class)
		JacksonSerialization idempotencySerialization(ObjectProvider<JsonMapper> mapper) {
			return new JacksonSerialization(mapper.getIfUnique(() -> JsonMapper.builder().build()));
		}

	}

	interface StoreCircuits {

		StoreCircuit create(String store);

	}

	/**
	 * Creates the local cache of a store. Two stores may have the same keys, so they
	 * share no cache.
	 */
	interface StoreCaches {

		CompletionCache create();

	}

}
