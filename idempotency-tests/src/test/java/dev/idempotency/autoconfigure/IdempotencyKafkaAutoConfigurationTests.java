/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import org.junit.jupiter.api.Test;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.kafka.autoconfigure.KafkaAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;

import dev.idempotency.listener.method.IdempotentAdvisor;
import dev.idempotency.listener.setup.ListenerSettingsFactory;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.testsupport.Contexts;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link IdempotencyKafkaAutoConfiguration}.
 */
class IdempotencyKafkaAutoConfigurationTests {

	@Test
	void listenerInfrastructureIsPresent() {
		Contexts.all()
			.run((context) -> assertThat(context).hasSingleBean(IdempotentAdvisor.class)
				.hasSingleBean(ListenerSettingsFactory.class));
	}

	@Test
	void applicationWithoutKafkaHasOnlyTheTemplate() {
		Contexts.without(KafkaAutoConfiguration.class)
			.withClassLoader(new FilteredClassLoader("org.springframework.kafka"))
			.run((context) -> assertThat(context).hasSingleBean(IdempotencyTemplate.class)
				.doesNotHaveBean(IdempotentAdvisor.class));
	}

	@Test
	void applicationWithoutIdempotentListenersNeedsNoStore() {
		Contexts.without(DataSourceAutoConfiguration.class)
			.run((context) -> assertThat(context).hasSingleBean(KafkaListenerEndpointRegistry.class));
	}

}
