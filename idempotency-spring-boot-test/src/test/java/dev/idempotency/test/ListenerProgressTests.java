/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test;

import java.util.Map;
import java.util.Set;

import org.apache.kafka.clients.admin.AdminClientConfig;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.beans.factory.support.StaticListableBeanFactory;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.core.KafkaAdmin;

import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link ListenerProgress} without a broker.
 */
class ListenerProgressTests {

	@Test
	@Timeout(20)
	void brokerThatIsNotAvailableIsReportedWithinSeconds() {
		ListenerProgress progress = new ListenerProgress(
				new StaticListableBeanFactory().getBeanProvider(KafkaListenerEndpointRegistry.class),
				new KafkaAdmin(Map.of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:9")),
				new RecordedDeliveries(new KnownKeys(), Set::of));
		try {
			assertThatIllegalStateException().isThrownBy(progress::requireBroker)
				.withMessageStartingWith("No broker is available at localhost:9.")
				.withMessageContaining("spring-boot-starter-kafka-test");
		}
		finally {
			progress.destroy();
		}
	}

}
