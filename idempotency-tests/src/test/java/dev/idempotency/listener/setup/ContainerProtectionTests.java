/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.setup;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.kafka.config.KafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;

import dev.idempotency.ListenerCensus;
import dev.idempotency.testsupport.HandedOn;

/**
 * Tests for {@link ContainerProtection}: the decorator of a container factory hands on
 * each method that the running version of Spring Kafka has.
 */
@Tag("promise-13")
class ContainerProtectionTests {

	@Test
	void containerFactoryIsCalled() {
		HandedOn.check(KafkaListenerContainerFactory.class,
				(application) -> new ContainerProtection.ProtectingFactory(application, () -> {
					throw new IllegalStateException("The endpoint is not idempotent");
				}, new ListenerDeclarations(new ListenerCensus(), new StandardEnvironment()),
						new KafkaListenerEndpointRegistry()));
	}

}
