/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.apache.kafka.clients.producer.RecordMetadata;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.support.KafkaHeaders;
import org.springframework.messaging.handler.annotation.Header;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for two versions of an application that run at the same time in one group: the
 * class has another name, the methods have another name and one more parameter, and the
 * configuration class has another kind of proxy.
 */
@Tag("promise-3")
@Tag("promise-15")
@Execution(ExecutionMode.CONCURRENT)
class RollingUpdateTests {

	private static final int PARTITIONS = 4;

	private static final int PAYMENTS = 40;

	private static final List<String> MODES = List.of("transactional", "leased");

	private final String prefix = Servers.unique("rolling");

	private final String database = Servers.newDatabase();

	private final JdbcTemplate jdbc = Servers.jdbc(this.database);

	@Test
	void copiesAreProcessedOnceByTheOldAndTheNewVersionTogether() throws Exception {
		MODES.forEach((mode) -> Servers.addTopics(PARTITIONS, topic(mode)));
		this.jdbc.execute("CREATE TABLE effect (mode text, payment text, version text)");
		try (ConfigurableApplicationContext old = run(OldVersion.class)) {
			// The copies of these reach the new version.
			send(0, 0);
			awaitEnd();
			try (ConfigurableApplicationContext update = run(NewVersion.class)) {
				awaitShare(old);
				awaitShare(update);
				send(0, 1);
				send(1, 0);
				awaitEnd();
				// Each version gets the copies of what the other one has processed.
				send(1, 1);
				send(2, 0);
				// The partitions of the old version move while copies are under way.
				old.close();
				send(2, 1);
				awaitEnd();
			}
		}
		for (String mode : MODES) {
			assertThat(this.jdbc.queryForList("SELECT payment FROM effect WHERE mode = ?", String.class, mode)).as(mode)
				.containsExactlyInAnyOrderElementsOf(
						Stream.of(0, 1, 2).flatMap((round) -> payments(round).stream()).toList());
		}
		assertThat(this.jdbc.queryForList("SELECT DISTINCT version FROM effect WHERE payment LIKE '1-%'", String.class))
			.containsExactlyInAnyOrder("old", "new");
	}

	private ConfigurableApplicationContext run(Class<?> version) {
		return TestApp.of(version)
			.database(this.database)
			.with("prefix", this.prefix)
			.with("spring.kafka.consumer.properties.partition.assignment.strategy",
					"org.apache.kafka.clients.consumer.CooperativeStickyAssignor")
			.run();
	}

	private static void awaitShare(ConfigurableApplicationContext context) {
		await().atMost(Duration.ofSeconds(40))
			.until(() -> context.getBean(KafkaListenerEndpointRegistry.class)
				.getListenerContainers()
				.stream()
				.allMatch((container) -> container.getAssignedPartitions() != null
						&& container.getAssignedPartitions().size() == PARTITIONS / 2));
	}

	private static List<String> payments(int round) {
		return IntStream.range(0, PAYMENTS).mapToObj((i) -> round + "-" + i).toList();
	}

	// A copy goes to another partition than the first.
	private void send(int round, int copy) throws Exception {
		for (String mode : MODES) {
			List<String> payments = payments(round);
			List<Future<RecordMetadata>> sent = IntStream.range(0, PAYMENTS)
				.mapToObj((i) -> Kafka
					.sendSoon(Kafka.record(topic(mode), (i + copy * 2) % PARTITIONS, payments.get(i), payments.get(i))))
				.toList();
			for (Future<RecordMetadata> record : sent) {
				record.get();
			}
		}
	}

	private void awaitEnd() {
		MODES.forEach(
				(mode) -> await().atMost(Duration.ofSeconds(60)).until(() -> Kafka.lag(topic(mode), topic(mode)) == 0));
	}

	private String topic(String mode) {
		return this.prefix + "-" + mode;
	}

	@Configuration
	static class OldVersion {

		private final JdbcTemplate jdbc;

		OldVersion(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@Idempotent(mode = Mode.TRANSACTIONAL)
		@KafkaListener(topics = "${prefix}-transactional", groupId = "${prefix}-transactional")
		void pay(String payment) {
			this.jdbc.update("INSERT INTO effect VALUES ('transactional', ?, 'old')", payment);
		}

		@Idempotent(mode = Mode.LEASED)
		@KafkaListener(topics = "${prefix}-leased", groupId = "${prefix}-leased")
		void charge(String payment) {
			this.jdbc.update("INSERT INTO effect VALUES ('leased', ?, 'old')", payment);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class NewVersion {

		private final JdbcTemplate jdbc;

		NewVersion(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@Idempotent(mode = Mode.TRANSACTIONAL)
		@KafkaListener(topics = "${prefix}-transactional", groupId = "${prefix}-transactional")
		void settle(String payment, @Header(KafkaHeaders.OFFSET) long offset) {
			this.jdbc.update("INSERT INTO effect VALUES ('transactional', ?, 'new')", payment);
		}

		@Idempotent(mode = Mode.LEASED)
		@KafkaListener(topics = "${prefix}-leased", groupId = "${prefix}-leased")
		void call(String payment, @Header(KafkaHeaders.OFFSET) long offset) {
			this.jdbc.update("INSERT INTO effect VALUES ('leased', ?, 'new')", payment);
		}

	}

}
