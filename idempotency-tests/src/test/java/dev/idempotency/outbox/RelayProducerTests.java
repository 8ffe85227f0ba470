/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import javax.sql.DataSource;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.kafka.autoconfigure.KafkaProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Primary;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.ProducerFactory;

import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the producer of a relay: it must not lose messages, even where the
 * application's own producer may.
 */
class RelayProducerTests {

	private final String topic = Servers.newTopic("relay", 1);

	private final String client = Servers.unique("client");

	private TestApp settings(TestApp app) {
		return app.with("spring.kafka.producer.client-id", this.client)
			.with("spring.kafka.producer.properties.interceptor.classes", Witness.class.getName());
	}

	private void assertGuaranteed(OutboxApp app) {
		app.send(this.topic, "account-1", "x");
		Awaitility.await()
			.untilAsserted(() -> assertThat(Kafka.readCommitted(this.topic)).extracting(ConsumerRecord::value)
				.containsExactly("x"));
		assertThat(Witness.configuration(this.client)).containsEntry("acks", "all")
			.containsEntry("enable.idempotence", true)
			.containsEntry("max.in.flight.requests.per.connection", 1)
			.doesNotContainKey("transactional.id");
	}

	@ParameterizedTest
	@ValueSource(strings = { "acks=1", "properties.enable.idempotence=false",
			"properties.max.in.flight.requests.per.connection=5", "transaction-id-prefix=tx-" })
	void producerOfTheRelayKeepsItsGuarantees(String setting) {
		String[] parts = setting.split("=");
		try (OutboxApp app = OutboxApp.start(
				(settings) -> settings(settings).with("spring.kafka.producer." + parts[0], parts[1]), Manager.class)) {
			assertGuaranteed(app);
		}
	}

	@Test
	void producerOfTheRelayIgnoresTheTransactionalIdOfTheFactory() {
		try (OutboxApp app = OutboxApp.start(this::settings, UsersFactory.class)) {
			assertGuaranteed(app);
		}
	}

	/**
	 * The JDBC transaction manager, which Boot does not create beside that of Kafka.
	 */
	static class Manager {

		@Bean
		@Primary
		JdbcTransactionManager jdbcManager(DataSource dataSource) {
			return new JdbcTransactionManager(dataSource);
		}

	}

	/**
	 * A producer factory of the application.
	 */
	static class UsersFactory {

		@Bean
		ProducerFactory<Object, Object> producerFactory(KafkaProperties properties) {
			return new DefaultKafkaProducerFactory<>(properties.buildProducerProperties()) {

				@Override
				public Map<String, Object> getConfigurationProperties() {
					Map<String, Object> configuration = new HashMap<>(super.getConfigurationProperties());
					configuration.put("transactional.id", "tx");
					return configuration;
				}

			};
		}

	}

	/**
	 * Records the configuration of a producer.
	 */
	public static final class Witness extends PlainInterceptor {

		private static final Map<String, Map<String, ?>> CONFIGURATIONS = new ConcurrentHashMap<>();

		static Map<String, Object> configuration(String client) {
			List<Map<String, ?>> found = CONFIGURATIONS.entrySet()
				.stream()
				.filter((entry) -> entry.getKey().startsWith(client + "-idempotency-outbox"))
				.<Map<String, ?>>map(Map.Entry::getValue)
				.toList();
			assertThat(found).hasSize(1);
			return new HashMap<>(found.get(0));
		}

		@Override
		public void configure(Map<String, ?> configs) {
			CONFIGURATIONS.put(String.valueOf(configs.get("client.id")), configs);
		}

	}

}
