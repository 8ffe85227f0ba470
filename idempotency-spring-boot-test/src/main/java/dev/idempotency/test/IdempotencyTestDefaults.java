/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test;

import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.MapPropertySource;
import org.springframework.test.context.ContextConfigurationAttributes;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.ContextCustomizerFactory;
import org.springframework.test.context.MergedContextConfiguration;
import org.springframework.test.context.TestContextAnnotationUtils;

/**
 * Adds the default properties of {@link IdempotencyTest}, below all others.
 */
final class IdempotencyTestDefaults implements ContextCustomizerFactory {

	private static final Map<String, Object> PROPERTIES = Map.of("spring.kafka.consumer.auto-offset-reset", "earliest",
			"spring.kafka.consumer.fetch-max-wait", "100ms",
			// Copies of a record can meet only if several threads process them.
			"spring.kafka.listener.concurrency", "3", "spring.kafka.listener.poll-timeout", "500ms",
			"idempotency.cleanup.enabled", "false", "idempotency.lease", "10s",
			"idempotency.circuit-breaker.wait-duration-in-open-state", "200ms");

	@Override
	public @Nullable ContextCustomizer createContextCustomizer(Class<?> testClass,
			List<ContextConfigurationAttributes> configuration) {
		return TestContextAnnotationUtils.hasAnnotation(testClass, IdempotencyTest.class) ? new Customizer() : null;
	}

	/**
	 * Adds the properties. Its instances are equal, so tests can share a context.
	 */
	private record Customizer() implements ContextCustomizer {

		@Override
		public void customizeContext(ConfigurableApplicationContext context, MergedContextConfiguration merged) {
			context.getEnvironment()
				.getPropertySources()
				.addLast(new MapPropertySource("defaults of @IdempotencyTest", PROPERTIES));
		}

	}

}
