/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;

import dev.idempotency.caffeine.CaffeineCompletionCache;
import dev.idempotency.resilience4j.Resilience4jStoreCircuit;
import dev.idempotency.template.CompletionCache;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.StoreCircuit;
import dev.idempotency.testsupport.Contexts;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the circuit breaker and the cache of {@link IdempotencyAutoConfiguration}.
 */
class StoreProtectionTests {

	private static final String CACHE = "idempotency.cache.enabled=true";

	private final ApplicationContextRunner runner = Contexts.inMemory();

	private static String failure(ApplicationContextRunner failing) {
		String[] sentence = new String[1];
		failing.run((context) -> {
			assertThat(context).hasFailed();
			sentence[0] = Contexts.analyze(context.getStartupFailure()).getDescription() + " "
					+ Contexts.analyze(context.getStartupFailure()).getAction();
		});
		return sentence[0];
	}

	@Test
	@Tag("promise-11")
	void circuitBreakerIsEnabledAndCacheDisabledByDefault() {
		this.runner.run((context) -> assertThat(context).hasSingleBean(Resilience4jStoreCircuit.class)
			.doesNotHaveBean(CompletionCache.class));
	}

	@Test
	void circuitBreakerCanBeDisabled() {
		this.runner.withPropertyValues("idempotency.circuit-breaker.enabled=false")
			.run((context) -> assertThat(context).hasSingleBean(IdempotencyTemplate.class)
				.doesNotHaveBean(StoreCircuit.class));
	}

	@Test
	void applicationWithoutResilience4jStarts() {
		this.runner.withClassLoader(new FilteredClassLoader("io.github.resilience4j"))
			.run((context) -> assertThat(context).hasSingleBean(IdempotencyTemplate.class)
				.doesNotHaveBean(StoreCircuit.class));
	}

	@Test
	@Tag("promise-13")
	void circuitOfTheApplicationIsUsed() {
		this.runner.withUserConfiguration(UsersCircuit.class)
			.run((context) -> assertThat(context).hasSingleBean(StoreCircuit.class).hasBean("usersCircuit"));
	}

	@ParameterizedTest
	@ValueSource(strings = { "sliding-window-size=0", "minimum-number-of-calls=0", "failure-rate-threshold=101",
			"wait-duration-in-open-state=0s", "permitted-number-of-calls-in-half-open-state=0" })
	@Tag("promise-12")
	void invalidCircuitBreakerSettingIsRefused(String setting) {
		assertThat(failure(this.runner.withPropertyValues("idempotency.circuit-breaker." + setting))).contains(
				"The circuit breaker of the idempotency store cannot be created", "'idempotency.circuit-breaker.*'");
	}

	@Test
	void cacheCanBeEnabled() {
		this.runner.withPropertyValues(CACHE)
			.run((context) -> assertThat(context).hasSingleBean(CaffeineCompletionCache.class));
	}

	@Test
	void applicationWithoutCaffeineStarts() {
		this.runner.withClassLoader(new FilteredClassLoader("com.github.benmanes"))
			.run((context) -> assertThat(context).hasSingleBean(IdempotencyTemplate.class));
	}

	@Test
	@Tag("promise-12")
	void cacheWithoutCaffeineIsRefused() {
		assertThat(failure(
				this.runner.withPropertyValues(CACHE).withClassLoader(new FilteredClassLoader("com.github.benmanes"))))
			.contains("Caffeine is not on the class path", "Add 'com.github.ben-manes.caffeine:caffeine'");
	}

	@ParameterizedTest
	@ValueSource(strings = { "maximum-size=0B", "time-to-live=0s" })
	@Tag("promise-12")
	void cacheWithoutSizeOrTimeToLiveIsRefused(String setting) {
		assertThat(failure(this.runner.withPropertyValues(CACHE, "idempotency.cache." + setting)))
			.contains("'idempotency.cache.maximum-size' and 'idempotency.cache.time-to-live' to positive values");
	}

	static class UsersCircuit {

		@Bean
		StoreCircuit usersCircuit() {
			return StoreCircuit.ALWAYS_CLOSED;
		}

	}

}
