/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ContainerCustomizer;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.DeadLetterPublishingRecoverer;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.support.KafkaHeaders;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.Idempotent;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for failing handlers, with the error handler of the application.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class HandlerFailureTests {

	private static final List<String> MODES = List.of("transactional", "leased");

	private final String topic = Servers.unique("failing");

	private JdbcTemplate jdbc;

	private ConfigurableApplicationContext context;

	@BeforeAll
	void start() {
		for (String mode : MODES) {
			Servers.addTopics(1, this.topic + "-" + mode, this.topic + "-" + mode + "-dlt");
		}
		String database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(database);
		this.jdbc.execute("CREATE TABLE effect (value text)");
		this.context = TestApp.of(Handlers.class).database(database).with("topic", this.topic).run();
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-5")
	void recordWhoseHandlerHasCommittedItsTransactionIsRetriedUntilItSucceeds() {
		Kafka.send(this.topic + "-transactional", "heals-committing", "heals-committing");
		await().untilAsserted(() -> assertThat(handlers().attempts("heals-committing")).hasSizeGreaterThan(3));
		assertThat(handlers().attempts("heals-committing")).containsExactly("1/1", "2/2", "3/3", "4/4");
		await().untilAsserted(
				() -> assertThat(record("heals-committing")).containsEntry("state", "C").containsEntry("attempt", 4));
	}

	@ParameterizedTest
	@ValueSource(strings = { "transactional", "leased" })
	@Tag("promise-1")
	void handlerThatFailsThreeTimesSucceedsAtTheFourthAttempt(String mode) {
		String value = "heals-" + mode;
		Kafka.send(this.topic + "-" + mode, value, value);
		await().atMost(Duration.ofSeconds(20))
			.untilAsserted(() -> assertThat(record(value)).containsEntry("state", "C"));
		assertThat(handlers().attempts(value)).containsExactly("1/1", "2/2", "3/3", "4/4");
		assertThat(record(value)).containsEntry("attempt", 4).containsEntry("error_type", null);
		assertThat(effects(value)).containsExactly(value);
	}

	@ParameterizedTest
	@ValueSource(strings = { "transactional", "leased" })
	@Tag("promise-1")
	@Tag("promise-3")
	void recordThatAlwaysFailsGoesToTheDeadLetterTopicAndIsProcessedFromThere(String mode) {
		String value = "fails-" + mode;
		String name = this.topic + "-" + mode;
		handlers().broken = true;
		Kafka.send(name, value, value);
		await().atMost(Duration.ofSeconds(20))
			.untilAsserted(() -> assertThat(Kafka.read(name + "-dlt")).extracting(ConsumerRecord::value)
				.containsExactly(value));
		assertThat(handlers().attempts(value)).hasSize(6);
		assertThat(record(value)).containsEntry("state", "F")
			.containsEntry("attempt", 6)
			.containsEntry("error_type", IllegalStateException.class.getName())
			.containsEntry("error_message", "fails " + value);
		assertThat(effects(value)).isEmpty();
		handlers().broken = false;
		ConsumerRecord<String, String> dead = Kafka.read(name + "-dlt").get(0);
		Kafka.send(new ProducerRecord<>(name, 0, dead.key(), dead.value(), dead.headers()));
		await().atMost(Duration.ofSeconds(20))
			.untilAsserted(() -> assertThat(record(value)).containsEntry("state", "C"));
		assertThat(effects(value)).containsExactly(value);
		Kafka.send(new ProducerRecord<>(name, 0, dead.key(), dead.value(), dead.headers()));
		await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> assertThat(Kafka.lag(name, name)).isZero());
		assertThat(effects(value)).containsExactly(value);
	}

	private Handlers handlers() {
		return TestApp.target(this.context, Handlers.class);
	}

	private Map<String, Object> record(String key) {
		return this.jdbc
			.queryForList(
					"SELECT state::text, attempt, error_type, error_message FROM idempotency_record " + "WHERE key = ?",
					key)
			.stream()
			.findFirst()
			.orElse(Map.of());
	}

	private List<String> effects(String value) {
		return this.jdbc.queryForList("SELECT value FROM effect WHERE value = ?", String.class, value);
	}

	@Configuration(proxyBeanMethods = false)
	static class Handlers {

		private final JdbcTemplate jdbc;

		private final Queue<String> attempts = new ConcurrentLinkedQueue<>();

		private volatile boolean broken;

		Handlers(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@Idempotent
		@KafkaListener(topics = "${topic}-transactional", groupId = "${topic}-transactional")
		void transactional(String value, @Header(KafkaHeaders.DELIVERY_ATTEMPT) int delivery) {
			// Written before the failure, so that the rollback has to undo it.
			this.jdbc.update("INSERT INTO effect VALUES (?)", value);
			if (value.endsWith("committing")) {
				this.jdbc.execute((ConnectionCallback<@Nullable Void>) (connection) -> {
					connection.commit();
					return null;
				});
			}
			handle(value, delivery);
		}

		@Idempotent(mode = Mode.LEASED)
		@KafkaListener(topics = "${topic}-leased", groupId = "${topic}-leased")
		void leased(String value, @Header(KafkaHeaders.DELIVERY_ATTEMPT) int delivery) {
			handle(value, delivery);
			this.jdbc.update("INSERT INTO effect VALUES (?)", value);
		}

		private void handle(String value, int delivery) {
			int attempt = IdempotentExecution.current().attempt();
			this.attempts.add(value + " " + attempt + "/" + delivery);
			if ((value.startsWith("heals") && attempt < 4) || (value.startsWith("fails") && this.broken)) {
				throw new IllegalStateException("fails " + value);
			}
		}

		List<String> attempts(String value) {
			return this.attempts.stream()
				.filter((attempt) -> attempt.startsWith(value + " "))
				.map((attempt) -> attempt.substring(value.length() + 1))
				.toList();
		}

		@Bean
		static ContainerCustomizer<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> countDeliveries() {
			return (container) -> container.getContainerProperties().setDeliveryAttemptHeader(true);
		}

		@Bean
		static DefaultErrorHandler errorHandler(KafkaTemplate<?, ?> kafka) {
			return new DefaultErrorHandler(new DeadLetterPublishingRecoverer(kafka), new FixedBackOff(0, 5));
		}

	}

}
