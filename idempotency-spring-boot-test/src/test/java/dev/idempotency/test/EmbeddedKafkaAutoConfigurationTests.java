/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test;

import java.util.List;

import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.kafka.autoconfigure.KafkaAutoConfiguration;
import org.springframework.boot.kafka.autoconfigure.KafkaConnectionDetails;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.kafka.core.KafkaAdmin;
import org.springframework.kafka.test.EmbeddedKafkaBroker;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link EmbeddedKafkaAutoConfiguration}. The tests of the slice start the
 * broker.
 */
class EmbeddedKafkaAutoConfigurationTests {

	private final ApplicationContextRunner contexts = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(EmbeddedKafkaAutoConfiguration.class, KafkaAutoConfiguration.class));

	@Test
	void configuredBrokerTakesThePlaceOfTheEmbeddedOne() {
		this.contexts.withPropertyValues("spring.kafka.bootstrap-servers[0]=kafka:9092").run((context) -> {
			assertThat(context).doesNotHaveBean(EmbeddedKafkaBroker.class);
			assertThat(context.getBean(KafkaConnectionDetails.class).getBootstrapServers())
				.containsExactly("kafka:9092");
		});
	}

	@Test
	void connectionDetailsTakeThePlaceOfTheEmbeddedBroker() {
		this.contexts.withBean(KafkaConnectionDetails.class, () -> () -> List.of("container:9092")).run((context) -> {
			assertThat(context).doesNotHaveBean(EmbeddedKafkaBroker.class);
			assertThat(context.getBean(KafkaAdmin.class).getConfigurationProperties().get("bootstrap.servers"))
				.isEqualTo(List.of("container:9092"));
		});
	}

	@Test
	void nothingIsStartedWithoutTheLibraryOfTheBroker() {
		this.contexts.withClassLoader(new FilteredClassLoader(EmbeddedKafkaBroker.class.getPackageName()))
			.run((context) -> assertThat(context).hasNotFailed()
				.doesNotHaveBean("idempotencyTestKafkaConnectionDetails"));
	}

}
