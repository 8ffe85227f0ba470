/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.datasource.SimpleDriverDataSource;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.Idempotent;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.migration.MigratingStore;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the steps of {@code docs/several-stores.md}: all instances are stopped and
 * started with another store, and records are redelivered.
 */
@Tag("promise-3")
class StoreMoveTests {

	private static final List<String> HANDLED = new CopyOnWriteArrayList<>();

	private final String topic = Servers.newTopic("move", 2);

	private final String database = Servers.newDatabase();

	private TestApp app(Class<?> listeners) {
		HANDLED.clear();
		return TestApp.of(listeners)
			.database(this.database)
			.redis(Servers.redis())
			.with("idempotency.redis.key-prefix", this.topic + ":")
			.with("topic", this.topic);
	}

	private TestApp moved(Class<?> listeners, String from, String to) {
		return app(listeners).with("idempotency.store.type", to)
			.with("idempotency.store.migrate-from", "old")
			.with("idempotency.stores.old.type", from)
			.with("idempotency.stores.old.redis.key-prefix", this.topic + ":");
	}

	private void send(int partition, @Nullable String key, String value) {
		Kafka.send(Kafka.record(this.topic, partition, key, value));
	}

	// Deliver all records of the topic again.
	private void run(TestApp app) {
		for (int partition = 0; partition < 2; partition++) {
			Kafka.commit(this.topic, new TopicPartition(this.topic, partition), 0);
		}
		try (ConfigurableApplicationContext context = app.run()) {
			await().atMost(Duration.ofSeconds(30)).until(() -> Kafka.lag(this.topic, this.topic) == 0);
		}
	}

	private void sendAll() {
		send(0, "a", "keyed");
		send(0, null, "first");
		send(0, "d", "declined");
		send(1, null, "second");
	}

	@ParameterizedTest
	@ValueSource(classes = { Single.class, Batch.class })
	@Tag("promise-5")
	void keysAndMarksMoveToAPartitionedTable(Class<?> listeners) {
		sendAll();
		run(app(listeners).with("idempotency.store.type", "jdbc"));
		assertThat(HANDLED).containsExactlyInAnyOrder("keyed", "first", "declined", "second");
		send(0, null, "third");
		send(1, "b", "new");
		TestApp moving = moved(listeners, "jdbc", "jdbc").with("idempotency.jdbc.table", "new_record")
			.with("idempotency.jdbc.layout", "partitioned");
		run(moving);
		assertThat(HANDLED).containsExactlyInAnyOrder("third", "new");
		HANDLED.clear();
		run(moving);
		assertThat(HANDLED).isEmpty();
		run(app(listeners).with("idempotency.store.type", "jdbc")
			.with("idempotency.jdbc.table", "new_record")
			.with("idempotency.jdbc.layout", "partitioned"));
		assertThat(HANDLED).as("the keys of the old store are forgotten, the marks are not")
			.containsExactlyInAnyOrder("keyed", "declined");
	}

	// Each consumer has a connection for the transaction of its handler.
	@Test
	@Tag("promise-12")
	void consumersThatHoldAllConnectionsReadTheOldStoreWithAnother() {
		TestApp moving = moved(Meeting.class, "jdbc", "jdbc").with("idempotency.jdbc.table", "new_record")
			.with("spring.datasource.hikari.maximum-pool-size", 2)
			.with("spring.kafka.listener.concurrency", 2);
		try (Logs logs = new Logs(); ConfigurableApplicationContext context = moving.run()) {
			MessageListenerContainer container = context.getBean(KafkaListenerEndpointRegistry.class)
				.getAllListenerContainers()
				.iterator()
				.next();
			// Each consumer has one of the partitions.
			await().until(() -> ((ConcurrentMessageListenerContainer<?, ?>) container).getContainers()
				.stream()
				.allMatch((consumer) -> consumer.getAssignedPartitions() != null
						&& consumer.getAssignedPartitions().size() == 1));
			send(0, "a", "first");
			send(1, "b", "second");
			await().atMost(Duration.ofSeconds(30)).until(() -> Kafka.lag(this.topic, this.topic) == 0);
			assertThat(logs.messages("WARN")).noneMatch(StoreMoveTests::isOfSecondConnection);
		}
		assertThat(HANDLED).containsExactlyInAnyOrder("first", "second");
		try (Logs logs = new Logs()) {
			moving.with("spring.datasource.type", SimpleDriverDataSource.class.getName())
				.with("spring.kafka.listener.auto-startup", false)
				.run()
				.close();
			assertThat(logs.messages("WARN")).as("of another pool").anyMatch(StoreMoveTests::isOfSecondConnection);
		}
	}

	// The transaction of the handler holds the only connection. A failed key continues
	// its attempts in the new store, and a store may read a third one.
	@Test
	@Tag("promise-12")
	void failedKeysAndChainsOfStoresNeedNoSecondConnectionOfThePool() {
		send(0, "f", "fails");
		run(app(Failing.class).with("idempotency.store.type", "jdbc"));
		assertThat(HANDLED).containsExactly("fails", "fails");
		TestApp moving = moved(Single.class, "jdbc", "jdbc").with("idempotency.jdbc.table", "new_record")
			.with("idempotency.store.migrate-from", "middle")
			.with("idempotency.stores.middle.type", "jdbc")
			.with("idempotency.stores.middle.jdbc.table", "middle_record")
			.with("idempotency.stores.middle.migrate-from", "old");
		// A migration needs two connections.
		moving.with("spring.kafka.listener.auto-startup", false).run().close();
		send(0, "a", "keyed");
		run(moving.with("spring.kafka.listener.auto-startup", true)
			.with("idempotency.jdbc.schema", "none")
			.with("idempotency.stores.middle.jdbc.schema", "none")
			.with("idempotency.stores.old.jdbc.schema", "none")
			.with("spring.datasource.hikari.maximum-pool-size", 1)
			.with("spring.datasource.hikari.connection-timeout", 1000));
		assertThat(HANDLED).containsExactly("fails", "keyed");
	}

	private static boolean isOfSecondConnection(String warning) {
		return warning.contains("takes a second connection of the same pool");
	}

	@ParameterizedTest
	@ValueSource(classes = { Single.class, Batch.class })
	void keysMoveFromRedisToATableWithTheCoordinatesOfRecordsWithoutKey(Class<?> listeners) {
		sendAll();
		run(app(listeners));
		assertThat(HANDLED).hasSize(4);
		send(0, null, "third");
		send(1, "b", "new");
		try (Logs logs = new Logs()) {
			run(moved(listeners, "redis", "jdbc"));
			assertThat(HANDLED).containsExactlyInAnyOrder("third", "new");
			assertThat(logs.messages("WARN")).anyMatch((warning) -> warning
				.contains("Set 'idempotency.key.on-missing' to 'record-coordinates', so that they still do when "
						+ "'idempotency.store.migrate-from' is removed"));
		}
	}

	@Test
	void keysMoveFromATableToRedisWithAWarningAboutItsMarks() {
		sendAll();
		run(app(Single.class).with("idempotency.store.type", "jdbc"));
		try (Logs logs = new Logs()) {
			run(moved(Single.class, "jdbc", "redis"));
			assertThat(HANDLED).containsExactlyInAnyOrder("first", "second");
			assertThat(logs.messages("WARN")).anyMatch((warning) -> warning
				.startsWith("The store 'old' has marks of processed offsets in the scopes ['" + this.topic + "/"
						+ this.topic + "'], and the store to which its keys move cannot store marks"));
		}
	}

	@Test
	@Tag("promise-2")
	@Tag("promise-12")
	void instancesThatStillRunCauseAWarning() {
		try (ConfigurableApplicationContext old = app(Single.class).run(); Logs logs = new Logs()) {
			send(0, "a", "keyed");
			await().atMost(Duration.ofSeconds(30)).until(() -> Kafka.lag(this.topic, this.topic) == 0);
			moved(Single.class, "redis", "jdbc").run().close();
			assertThat(warnings(logs)).singleElement()
				.asString()
				.contains("other members of the group are connected: [consumer-" + this.topic + "-");
		}
		try (Logs logs = new Logs();
				ConfigurableApplicationContext moved = moved(Single.class, "redis", "jdbc").run()) {
			assertThat(moved.getBeansOfType(MigratingStore.class)).isEmpty();
			assertThat(warnings(logs)).isEmpty();
		}
	}

	@Test
	@Tag("promise-12")
	void membersThatCannotBeDeterminedCauseAWarning() {
		try (Logs logs = new Logs()) {
			moved(Single.class, "redis", "jdbc").with("spring.kafka.listener.auto-startup", false)
				.with("spring.kafka.consumer.properties.security.protocol", "SASL_PLAINTEXT")
				.run()
				.close();
			assertThat(warnings(logs)).singleElement()
				.asString()
				.contains("the members of the group could not be determined (", "Make sure that no instance without");
		}
	}

	private List<String> warnings(Logs logs) {
		return logs.messages("WARN")
			.stream()
			.filter((warning) -> warning.startsWith("The keys of the consumer group '" + this.topic + "' move"))
			.toList();
	}

	@Configuration(proxyBeanMethods = false)
	static class Single {

		@Idempotent
		@KafkaListener(topics = "${topic}", groupId = "${topic}")
		void listen(String value) {
			HANDLED.add(value);
			if (value.equals("declined")) {
				throw new OperationDeclinedException("declined");
			}
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Failing {

		@Idempotent
		@KafkaListener(topics = "${topic}", groupId = "${topic}")
		void listen(String value) {
			HANDLED.add(value);
			throw new IllegalStateException("fails");
		}

		@Bean
		static DefaultErrorHandler errorHandler() {
			return new DefaultErrorHandler(new FixedBackOff(0, 1));
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Meeting {

		private final CyclicBarrier both = new CyclicBarrier(2);

		@Idempotent
		@KafkaListener(topics = "${topic}", groupId = "${topic}")
		void listen(String value) throws Exception {
			this.both.await(20, TimeUnit.SECONDS);
			HANDLED.add(value);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Batch {

		@Idempotent
		@KafkaListener(topics = "${topic}", groupId = "${topic}", batch = "true")
		void listen(List<String> values) {
			HANDLED.addAll(values);
		}

	}

}
