/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test;

import java.util.List;
import java.util.Map;
import java.util.Objects;

import org.apache.kafka.common.utils.Exit;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.PropertySourcesPlaceholdersResolver;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.kafka.autoconfigure.KafkaAutoConfiguration;
import org.springframework.boot.kafka.autoconfigure.KafkaConnectionDetails;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.PropertySource;
import org.springframework.core.type.AnnotatedTypeMetadata;
import org.springframework.kafka.test.EmbeddedKafkaBroker;
import org.springframework.kafka.test.EmbeddedKafkaKraftBroker;

/**
 * {@link AutoConfiguration Auto-configuration} for a broker in this JVM, which lives as
 * long as the context. Topics are created when they are first used, with three
 * partitions. It takes the place of a broker that the configuration files of the
 * application name, which is that of production or of a developer. A broker that the test
 * names takes its place: {@code @EmbeddedKafka}, a {@link KafkaConnectionDetails} bean,
 * for example of a container with {@code @ServiceConnection}, or the property
 * {@code spring.kafka.bootstrap-servers} of the test, of the JVM or of its environment.
 *
 * @since 0.1.0
 */
@AutoConfiguration(before = KafkaAutoConfiguration.class,
		afterName = "org.springframework.boot.testcontainers.service.connection.ServiceConnectionAutoConfiguration")
@ConditionalOnClass({ EmbeddedKafkaKraftBroker.class, KafkaAutoConfiguration.class })
@ConditionalOnMissingBean({ KafkaConnectionDetails.class, EmbeddedKafkaBroker.class })
@Conditional(EmbeddedKafkaAutoConfiguration.OnMissingServers.class)
public final class EmbeddedKafkaAutoConfiguration {

	private static final int PARTITIONS = 3;

	private static final Map<String, String> PROPERTIES = Map.of("auto.create.topics.enable", "true", "num.partitions",
			String.valueOf(PARTITIONS), "group.initial.rebalance.delay.ms", "0", "offsets.topic.num.partitions", "4",
			"transaction.state.log.num.partitions", "4", "transaction.state.log.replication.factor", "1",
			"transaction.state.log.min.isr", "1");

	@Bean
	EmbeddedKafkaBroker idempotencyTestEmbeddedKafka() {
		// The broker would otherwise set the property of Spring Boot for the whole JVM,
		// and later tests would use a broker that has stopped.
		return new Broker().brokerProperties(PROPERTIES).brokerListProperty("spring.embedded.kafka.idempotency-test");
	}

	@Bean
	KafkaConnectionDetails idempotencyTestKafkaConnectionDetails(EmbeddedKafkaBroker broker) {
		return new KafkaConnectionDetails() {

			@Override
			public List<String> getBootstrapServers() {
				return List.of(broker.getBrokersAsString().split(","));
			}

			// The application may encrypt the connections to its own broker.
			@Override
			public String getSecurityProtocol() {
				return "PLAINTEXT";
			}

		};
	}

	/**
	 * A broker whose files are deleted when it is destroyed, after the listeners have
	 * stopped. The shutdown hook of its test kit would delete them while listeners run.
	 */
	private static final class Broker extends EmbeddedKafkaKraftBroker {

		private Broker() {
			super(1, PARTITIONS);
		}

		@Override
		public void afterPropertiesSet() {
			Exit.setShutdownHookAdder((name, hook) -> {
			});
			try {
				super.afterPropertiesSet();
			}
			finally {
				Exit.resetShutdownHookAdder();
			}
		}

	}

	/**
	 * Matches if no property of the test names a broker.
	 */
	static final class OnMissingServers extends SpringBootCondition {

		private static final String PROPERTY = "spring.kafka.bootstrap-servers";

		// The property sources that Spring Boot creates from the files of an application.
		private static final String CONFIGURATION_FILE = "Config resource ";

		@Override
		public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
			ConfigurableEnvironment environment = (ConfigurableEnvironment) context.getEnvironment();
			List<ConfigurationPropertySource> sources = environment.getPropertySources()
				.stream()
				.filter((source) -> !source.getName().startsWith(CONFIGURATION_FILE) && !isOfAnotherTest(source))
				.map(ConfigurationPropertySource::from)
				.filter(Objects::nonNull)
				.toList();
			boolean configured = new Binder(sources, new PropertySourcesPlaceholdersResolver(environment))
				.bind(PROPERTY, Bindable.listOf(String.class))
				.isBound();
			ConditionMessage.Builder message = ConditionMessage.forCondition("Embedded broker");
			return configured ? ConditionOutcome.noMatch(message.because("'" + PROPERTY + "' names a broker"))
					: ConditionOutcome.match(message.because("the test does not set '" + PROPERTY + "'"));
		}

		// @EmbeddedKafka sets system properties for all tests of the JVM, and its broker
		// may have stopped. A test with that annotation has a bean.
		private static boolean isOfAnotherTest(PropertySource<?> source) {
			Object servers = source.getProperty(PROPERTY);
			return servers != null
					&& servers.equals(source.getProperty(EmbeddedKafkaBroker.SPRING_EMBEDDED_KAFKA_BROKERS));
		}

	}

}
