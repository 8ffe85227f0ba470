/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Supplier;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.BackOff;
import org.springframework.kafka.annotation.DltHandler;
import org.springframework.kafka.annotation.KafkaHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;
import org.springframework.kafka.support.KafkaHeaders;
import org.springframework.messaging.handler.annotation.Header;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.listener.key.ListenerScope;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link ListenerScope}: the default scope consists of the consumer group and
 * the main topic, and of no names of the code.
 */
@Tag("promise-15")
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ListenerScopeTests {

	private final String prefix = Servers.unique("scope");

	private ConfigurableApplicationContext context;

	private JdbcTemplate jdbc;

	@BeforeAll
	void start() {
		Servers.addTopics(1, topic("orders"), topic("payments"), topic("pattern-a"), topic("pattern-b"),
				topic("handlers"), topic("first"), topic("first-retry"), topic("first-dlt"), topic("second"),
				topic("second-retry"), topic("second-dlt"));
		String database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(database);
		this.context = TestApp.of(Listeners.class).database(database).with("prefix", this.prefix).run();
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@Test
	void beansOfOneClassThatReadDifferentTopicsProcessOneKeyEach() {
		Kafka.send(topic("orders"), "42", "order");
		Kafka.send(topic("payments"), "42", "payment");
		awaitEnd("group", "orders");
		awaitEnd("group", "payments");
		assertThat(seen().of("order", "payment")).containsExactlyInAnyOrder("order", "payment");
		assertThat(scopes("42")).containsExactly(scope("orders"), scope("payments"));
	}

	@Test
	void scopeOfATopicPatternHasTheTopicOfTheRecord() {
		Kafka.send(topic("pattern-a"), "a", "pattern a");
		Kafka.send(topic("pattern-b"), "a", "pattern b");
		Kafka.send(topic("pattern-b"), "a", "pattern b");
		awaitEnd("group", "pattern-a");
		awaitEnd("group", "pattern-b");
		assertThat(seen().of("pattern a", "pattern b")).containsExactlyInAnyOrder("pattern a", "pattern b");
		assertThat(scopes("a")).containsExactly(scope("pattern-a"), scope("pattern-b"));
	}

	@Test
	void scopeOfAHandlerMethodHasItsName() {
		Kafka.send(topic("handlers"), "handled", "handled");
		awaitEnd("group", "handlers");
		assertThat(scopes("handled")).containsExactly(scope("handlers") + "#created");
	}

	@Test
	void recordOnARetryTopicHasTheScopeOfItsMainTopic() {
		Kafka.send(topic("second"), "retried", "heals");
		await().atMost(Duration.ofSeconds(30))
			.untilAsserted(
					() -> assertThat(seen().of("heals on " + topic("second"), "heals on " + topic("second") + "-retry"))
						.hasSize(2));
		awaitEnd("group-retry", "second-retry");
		assertThat(scopes("retried")).containsExactly(scope("second"));
	}

	@Test
	void deadLetterHasItsOwnScope() {
		Kafka.send(topic("first"), "buried", "dies");
		await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> assertThat(seen().of("dead dies")).hasSize(1));
		awaitEnd("group-dlt", "first-dlt");
		assertThat(scopes("buried")).containsExactly(scope("first"));
		assertThat(this.jdbc.queryForList("SELECT scope FROM idempotency_record WHERE key LIKE ?", String.class,
				topic("first") + "-dlt-0-0@%"))
			.containsExactly(scope("first") + "#dead-letter");
	}

	@Test
	@Tag("promise-3")
	void completedKeyIsADuplicateAfterRefactoring() {
		String topic = Servers.newTopic("renamed", 1);
		String database = Servers.newDatabase();
		Queue<String> runs = new ConcurrentLinkedQueue<>();
		for (Class<?> version : List.of(Before.class, After.class)) {
			try (ConfigurableApplicationContext application = TestApp.of(version)
				.database(database)
				.with("topic", topic)
				.run()) {
				Kafka.send(topic, "o1", "value");
				await().atMost(Duration.ofSeconds(30)).until(() -> Kafka.lag(topic, topic) == 0);
				runs.addAll(application.getBean(Seen.class).runs);
			}
		}
		assertThat(runs).containsExactly("before");
	}

	private String topic(String name) {
		return this.prefix + "-" + name;
	}

	private String scope(String name) {
		return topic("group") + "/" + topic(name);
	}

	private void awaitEnd(String group, String name) {
		await().atMost(Duration.ofSeconds(30)).until(() -> Kafka.lag(topic(group), topic(name)) == 0);
	}

	private Seen seen() {
		return this.context.getBean(Seen.class);
	}

	private List<String> scopes(String key) {
		return this.jdbc.queryForList("SELECT scope FROM idempotency_record WHERE key = ? ORDER BY scope", String.class,
				key);
	}

	static class Seen {

		private final Queue<String> runs = new ConcurrentLinkedQueue<>();

		List<String> of(String... values) {
			return this.runs.stream().filter((run) -> Stream.of(values).anyMatch(run::equals)).toList();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		@Bean
		static Seen seen() {
			return new Seen();
		}

		@Bean
		OneTopic orders(Environment environment, Seen seen) {
			return new OneTopic(environment.getProperty("prefix") + "-orders", seen);
		}

		@Bean
		OneTopic payments(Environment environment, Seen seen) {
			return new OneTopic(environment.getProperty("prefix") + "-payments", seen);
		}

		@Bean
		Pattern pattern(Seen seen) {
			return new Pattern(seen);
		}

		@Bean
		Handlers handlers(Seen seen) {
			return new Handlers(seen);
		}

		@Bean
		Retried retried(Seen seen) {
			return new Retried(seen);
		}

	}

	static class OneTopic implements Supplier<String> {

		private final String topic;

		private final Seen seen;

		OneTopic(String topic, Seen seen) {
			this.topic = topic;
			this.seen = seen;
		}

		@Override
		public String get() {
			return this.topic;
		}

		@Idempotent
		@KafkaListener(topics = "#{__listener.get()}", groupId = "${prefix}-group")
		void listen(String value) {
			this.seen.runs.add(value);
		}

	}

	static class Pattern {

		private final Seen seen;

		Pattern(Seen seen) {
			this.seen = seen;
		}

		@Idempotent
		@KafkaListener(topicPattern = "${prefix}-pattern-.*", groupId = "${prefix}-group")
		void listen(String value) {
			this.seen.runs.add(value);
		}

	}

	@Idempotent
	@KafkaListener(topics = "${prefix}-handlers", groupId = "${prefix}-group")
	static class Handlers {

		private final Seen seen;

		Handlers(Seen seen) {
			this.seen = seen;
		}

		@KafkaHandler
		void created(String value) {
			this.seen.runs.add(value);
		}

		@KafkaHandler
		void paid(Integer value) {
			this.seen.runs.add(String.valueOf(value));
		}

	}

	@Idempotent(mode = Mode.LEASED)
	static class Retried {

		private final Seen seen;

		Retried(Seen seen) {
			this.seen = seen;
		}

		@RetryableTopic(attempts = "2", backOff = @BackOff(delay = 100))
		@KafkaListener(id = "${prefix}-retried", topics = { "${prefix}-first", "${prefix}-second" },
				groupId = "${prefix}-group")
		void listen(String value, @Header(KafkaHeaders.RECEIVED_TOPIC) String topic) {
			this.seen.runs.add(value + " on " + topic);
			if (value.equals("dies") || !topic.endsWith("retry")) {
				throw new IllegalStateException("fails");
			}
		}

		@DltHandler
		void dead(String value) {
			this.seen.runs.add("dead " + value);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Before {

		private final Seen seen;

		Before(Seen seen) {
			this.seen = seen;
		}

		@Bean
		static Seen seen() {
			return new Seen();
		}

		@Idempotent
		@KafkaListener(topics = "${topic}", groupId = "${topic}")
		void listen(String value) {
			this.seen.runs.add("before");
		}

	}

	@Configuration
	static class After {

		private final Seen seen;

		After(Seen seen) {
			this.seen = seen;
		}

		@Bean
		static Seen seen() {
			return new Seen();
		}

		@Idempotent
		@KafkaListener(topics = "${topic}", groupId = "${topic}")
		void handle(String value, @Header(KafkaHeaders.OFFSET) long offset) {
			this.seen.runs.add("after");
		}

	}

}
