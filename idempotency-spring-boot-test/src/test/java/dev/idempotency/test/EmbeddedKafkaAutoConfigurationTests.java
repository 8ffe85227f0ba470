/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test;

import java.util.List;
import java.util.Map;

import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.kafka.autoconfigure.KafkaAutoConfiguration;
import org.springframework.boot.kafka.autoconfigure.KafkaConnectionDetails;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.type.AnnotatedTypeMetadata;
import org.springframework.core.type.AnnotationMetadata;
import org.springframework.kafka.core.KafkaAdmin;
import org.springframework.kafka.test.EmbeddedKafkaBroker;
import org.springframework.mock.env.MockEnvironment;

import dev.idempotency.test.EmbeddedKafkaAutoConfiguration.OnMissingServers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

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

	// A broker would start, so only the condition is asked.
	@Test
	void brokersOfAConfigurationFileAndOfAnotherTestAreNotThatOfTheTest() {
		MockEnvironment environment = new MockEnvironment();
		environment.getPropertySources()
			.addLast(new MapPropertySource("Config resource 'class path resource [application.yml]'",
					Map.of("spring.kafka.bootstrap-servers", "production:9092")));
		ConditionContext context = mock();
		given(context.getEnvironment()).willReturn(environment);
		OnMissingServers condition = new OnMissingServers();
		AnnotatedTypeMetadata metadata = AnnotationMetadata.introspect(EmbeddedKafkaAutoConfiguration.class);
		environment.getPropertySources()
			.addLast(new MapPropertySource("systemProperties", Map.of("spring.kafka.bootstrap-servers",
					"localhost:40001", EmbeddedKafkaBroker.SPRING_EMBEDDED_KAFKA_BROKERS, "localhost:40001")));
		assertThat(condition.getMatchOutcome(context, metadata).isMatch()).isTrue();
		environment.getPropertySources()
			.addFirst(new MapPropertySource("Inlined Test Properties",
					Map.of("spring.kafka.bootstrap-servers", "${host:test}:9092")));
		assertThat(condition.getMatchOutcome(context, metadata).isMatch()).isFalse();
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
