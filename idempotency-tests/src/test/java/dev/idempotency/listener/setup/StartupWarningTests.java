/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.setup;

import java.io.IOException;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import org.apache.kafka.clients.admin.NewTopic;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.slf4j.LoggerFactory;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.TopicPartition;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Idempotent;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link TopicRetentions}, {@code ListenerScopes} and {@code DurationSetting}:
 * settings that may be intended cause a warning.
 */
@Tag("promise-12")
class StartupWarningTests {

	private static final String PREFIX = Servers.unique("retention");

	private final ApplicationContextRunner runner = Contexts.all()
		.withPropertyValues("spring.kafka.bootstrap-servers=" + Servers.kafka().getBrokersAsString(),
				"prefix=" + PREFIX);

	@BeforeAll
	static void createTopics() {
		Servers.addTopics(topic("week", "retention.ms", "604800000"), topic("month", "retention.ms", "2592000000"),
				topic("always", "retention.ms", "-1"), topic("table", "cleanup.policy", "compact"),
				topic("patterned", "retention.ms", "2592000000"), topic("assigned", "retention.ms", "2592000000"));
	}

	private static NewTopic topic(String name, String setting, String value) {
		return new NewTopic(PREFIX + "-" + name, 1, (short) 1).configs(Map.of(setting, value));
	}

	@Test
	void topicThatKeepsRecordsLongerThanTheirKeysCausesAWarning() {
		try (Logs logs = new Logs()) {
			this.runner.withUserConfiguration(Topics.class, Missing.class).run((context) -> {
				assertThat(context).hasNotFailed();
				await().atMost(Duration.ofSeconds(10))
					.untilAsserted(() -> assertThat(logs.messages("WARN")).hasSize(4));
				List<String> warnings = logs.messages("WARN");
				assertThat(warnings).filteredOn((warning) -> warning.contains("'" + PREFIX + "-month'"))
					.singleElement()
					.asString()
					.startsWith("The idempotent listener StartupWarningTests.Topics.listen remembers keys for 7d, "
							+ "but the topic")
					.contains("keeps records for 30d", "takes effect again",
							"Set 'idempotency.retention', or 'retention' of @Idempotent, to 30d or more, or "
									+ "'retention.ms' of the topic to no more than 604800000");
				assertThat(warnings).anyMatch((warning) -> warning.contains("-always' keeps records for ever"));
				assertThat(warnings).anyMatch((warning) -> warning.contains("-patterned' keeps records for 30d"));
				assertThat(warnings).anyMatch((warning) -> warning.contains("-assigned' keeps records for 30d"));
			});
		}
	}

	// Kafka's client logs each attempt to start again with the configured addresses:
	// hundreds of lines each second.
	@Test
	void unavailableBrokerDoesNotFloodTheLog() throws IOException {
		int port;
		try (ServerSocket unused = new ServerSocket(0)) {
			port = unused.getLocalPort();
		}
		Logger logger = (Logger) LoggerFactory.getLogger("org.apache.kafka.clients");
		Logger network = (Logger) LoggerFactory.getLogger("org.apache.kafka.clients.NetworkClient");
		Logger metadata = (Logger) LoggerFactory
			.getLogger("org.apache.kafka.clients.admin.internals.AdminMetadataManager");
		ListAppender<ILoggingEvent> appender = new ListAppender<>();
		appender.list = new CopyOnWriteArrayList<>();
		appender.start();
		logger.addAppender(appender);
		metadata.setLevel(Level.INFO);
		network.setLevel(Level.WARN);
		try {
			this.runner
				.withPropertyValues("spring.kafka.bootstrap-servers=localhost:" + port,
						"spring.kafka.admin.auto-create=false", "spring.kafka.listener.auto-startup=false")
				.withUserConfiguration(Topics.class)
				.run((context) -> {
					await().atMost(Duration.ofSeconds(20))
						.untilAsserted(
								() -> assertThat(lines(appender, "Connection to node", port)).hasSizeGreaterThan(8));
					assertThat(lines(appender, "Rebootstrapping", port)).isEmpty();
				});
		}
		finally {
			metadata.setLevel(null);
			network.setLevel(null);
			logger.detachAppender(appender);
		}
	}

	private static List<String> lines(ListAppender<ILoggingEvent> appender, String text, int port) {
		return appender.list.stream()
			.map(ILoggingEvent::getFormattedMessage)
			.filter((line) -> line.contains(text) && line.contains(":" + port))
			.toList();
	}

	@Test
	void unavailableBrokerDoesNotDelayTheStart() throws IOException {
		try (ServerSocket silent = new ServerSocket(0); Logs logs = new Logs()) {
			long start = System.nanoTime();
			this.runner
				.withPropertyValues("spring.kafka.bootstrap-servers=localhost:" + silent.getLocalPort(),
						"spring.kafka.admin.auto-create=false")
				.withUserConfiguration(Topics.class)
				.run((context) -> {
					assertThat(context).hasNotFailed();
					assertThat(context.getBean(TopicRetentions.class).isRunning()).isTrue();
				});
			// The check in the background times out after ten seconds.
			assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(9));
			assertThat(logs.messages("WARN")).isEmpty();
		}
	}

	@Test
	@Tag("promise-15")
	void storedScopesThatNoListenerUsesCauseAWarning() {
		ApplicationContextRunner application = this.runner
			.withPropertyValues("spring.datasource.url=" + Servers.newDatabase())
			.withUserConfiguration(Topics.class, Named.class);
		application.run((context) -> {
			IdempotencyStore store = context.getBean(IdempotencyStore.class);
			for (String scope : List.of("group/" + PREFIX + "-week", "group/renamed", "group/renamed#created",
					"pattern/" + PREFIX + "-pattern-1", "pattern/other", "another/renamed", "group/named",
					"free text")) {
				one(store).claim(TestDatabase.request(IdempotencyKey.of(scope, "key"), Duration.ofMinutes(1)));
			}
		});
		try (Logs logs = new Logs()) {
			application.run((context) -> await().atMost(Duration.ofSeconds(10))
				.untilAsserted(() -> assertThat(logs.messages("WARN")
					.stream()
					.filter((warning) -> warning.contains("in scopes that no listener")))
					.satisfiesExactly(
							(warning) -> assertThat(warning).contains("The store 'jdbc' has keys",
									"consumer group 'group'", "['group/renamed', 'group/renamed#created']"),
							(warning) -> assertThat(warning).contains("consumer group 'pattern'",
									"['pattern/other']"))));
		}
	}

	@ParameterizedTest
	@CsvSource({ "leased, 9s, true", "leased, 10s, false", "leased, 1h, false", "transactional, 9s, false" })
	void leaseBelowFiveStoreTimeoutsCausesAWarning(String mode, String lease, boolean warned) {
		try (Logs logs = new Logs()) {
			this.runner.withPropertyValues("idempotency.mode=" + mode, "idempotency.lease=" + lease)
				.withUserConfiguration(Leased.class)
				.run((context) -> assertThat(context).hasNotFailed());
			assertThat(logs.messages("WARN").stream().filter((warning) -> warning.contains("lease")))
				.hasSize(warned ? 1 : 0)
				.allMatch((warning) -> warning
					.startsWith("The lease of the idempotent listener StartupWarningTests.Leased.listen, 9s, is "
							+ "shorter than five times 'idempotency.store.timeout', 2s: "));
		}
	}

	static class Topics {

		@Idempotent
		@KafkaListener(topics = { "${prefix}-week", "${prefix}-month", "${prefix}-always", "${prefix}-table" },
				groupId = "group")
		void listen(String value) {
		}

		@Idempotent
		@KafkaListener(topicPattern = "${prefix}-pattern.*", groupId = "pattern")
		void listenToPattern(String value) {
		}

		@Idempotent(scope = "assigned")
		@KafkaListener(topicPartitions = @TopicPartition(topic = "${prefix}-assigned", partitions = "0"),
				groupId = "assigned")
		void listenToPartition(String value) {
		}

	}

	static class Named {

		@Idempotent(scope = "group/named")
		@KafkaListener(topics = "${prefix}-table", groupId = "named")
		void listen(String value) {
		}

	}

	static class Missing {

		@Idempotent
		@KafkaListener(topics = "${prefix}-missing", groupId = "missing")
		void listen(String value) {
		}

	}

	static class Leased {

		@Idempotent
		@KafkaListener(topics = "${prefix}-week", groupId = "group")
		void listen(String value) {
		}

	}

}
