/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;

import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.StandardEnvironment;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.autoconfigure.IdempotencyProperties;
import dev.idempotency.listener.LongHandlerApp.LongListener;
import dev.idempotency.store.Claim;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.test.kill.ChildProcess;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for handlers that run for several leases, in a process that is frozen or killed.
 */
@Execution(ExecutionMode.CONCURRENT)
@ResourceLock("processes")
@Order(1)
class LongHandlerTests {

	private static final Duration LEASE = Duration.ofSeconds(4);

	// A paused partition is resumed at most one second after the lease has expired, and
	// fetches the record. The rest of the time is for a slow machine.
	private static final Duration LOOK = Duration.ofSeconds(6);

	// Each store's contract tests that a former owner changes nothing.
	@ParameterizedTest
	@EnumSource(names = "JDBC")
	@Tag("promise-4")
	void zombieIsNotifiedAndCountedAndChangesNothing(Store store) {
		String topic = Servers.newTopic("frozen", 1);
		Kafka.send(topic, "k", "v");
		String database = store.newDatabase();
		try (ChildProcess zombie = app(store, database, topic, "owner", topic).fork()) {
			zombie.awaitLine("RUNNING 1");
			zombie.freeze();
			try (ConfigurableApplicationContext successor = app(store, database, topic, "successor", topic).run()) {
				await().atMost(Duration.ofSeconds(30)).until(() -> Kafka.lag(topic, topic) == 0);
				assertThat(TestApp.target(successor, LongListener.class).fences()).containsExactly(2);
				IdempotencyRecord record = record(successor, topic);
				zombie.resume();
				zombie.awaitLine("OWNERSHIP LOST true");
				zombie.awaitLine("OUTCOME LOST");
				// Redis 6 returns the remaining time instead of the end: the two differ
				// by a millisecond.
				assertThat(record(successor, topic)).usingRecursiveComparison()
					.withEqualsForType(LongHandlerTests::almost, Instant.class)
					.isEqualTo(record);
				assertThat(result(successor, topic)).isEqualTo("\"successor\"");
			}
		}
	}

	@ParameterizedTest
	@EnumSource(names = { "MARIADB", "REDIS", "DYNAMO_DB" })
	@Tag("promise-4")
	@Tag("storm")
	@EnabledIfSystemProperty(named = "test.storm", matches = ".+", disabledReason = "Part of the profile storm")
	void zombieOfAnotherStoreIsNotifiedAndCountedAndChangesNothing(Store store) {
		zombieIsNotifiedAndCountedAndChangesNothing(store);
	}

	// DynamoDB has faster tests of renewals, in TakeOverTests. Each store's renewals are
	// tested by its contract.
	@ParameterizedTest
	@EnumSource(names = "JDBC")
	@Tag("promise-2")
	@Tag("promise-7")
	void handlerOfThreeLeasesKeepsItsClaimAndIsTakenOverWithinALeaseAfterItsCrash(Store store) {
		String topic = Servers.newTopic("long", 1);
		Kafka.send(topic, "k", "v");
		String database = store.newDatabase();
		try (ChildProcess owner = app(store, database, topic, "owner", topic + "-1").fork()) {
			owner.awaitLine("RUNNING 1");
			try (ConfigurableApplicationContext other = app(store, database, topic, "successor", topic + "-2").run()) {
				LongListener listener = TestApp.target(other, LongListener.class);
				Duration three = LEASE.multipliedBy(3);
				await().during(three).until(() -> listener.fences().isEmpty());
				owner.kill();
				long killed = System.nanoTime();
				await().atMost(Duration.ofSeconds(30)).until(() -> !listener.fences().isEmpty());
				assertThat(Duration.ofNanos(System.nanoTime() - killed)).isLessThan(LEASE.plus(LOOK));
				assertThat(listener.fences()).containsExactly(2);
				assertThat(owner.lines()).doesNotContain("OWNERSHIP LOST true");
			}
		}
	}

	@ParameterizedTest
	@EnumSource(names = { "MARIADB", "REDIS" })
	@Tag("promise-2")
	@Tag("promise-7")
	@Tag("storm")
	@EnabledIfSystemProperty(named = "test.storm", matches = ".+", disabledReason = "Part of the profile storm")
	void handlerOfThreeLeasesInAnotherStoreIsTakenOverWithinALeaseAfterItsCrash(Store store) {
		handlerOfThreeLeasesKeepsItsClaimAndIsTakenOverWithinALeaseAfterItsCrash(store);
	}

	// The default lease and Kafka's default session timeout, each divided by fifteen.
	@Test
	@Tag("promise-7")
	void leaseOfACrashedProcessHasExpiredWhenItsPartitionsAreReassigned() {
		int scale = 15;
		Duration lease = Binder.get(new StandardEnvironment())
			.bindOrCreate("idempotency", IdempotencyProperties.class)
			.lease()
			.dividedBy(scale);
		int session = (int) ConsumerConfig.configDef().defaultValues().get(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG)
				/ scale;
		String topic = Servers.newTopic("killed", 1);
		Kafka.send(topic, "k", "v");
		String database = Servers.newDatabase();
		try (Logs logs = Logs.about(topic);
				ChildProcess owner = app(Store.JDBC, database, topic, "owner", topic)
					.with("lease", lease.toMillis() + "ms")
					.with("spring.kafka.consumer.properties.session.timeout.ms", session)
					.with("spring.kafka.consumer.properties.heartbeat.interval.ms", session / 15)
					.fork()) {
			owner.awaitLine("RUNNING 1");
			try (ConfigurableApplicationContext successor = app(Store.JDBC, database, topic, "successor", topic)
				.run()) {
				owner.kill();
				await().atMost(Duration.ofSeconds(30)).until(() -> Kafka.lag(topic, topic) == 0);
				assertThat(TestApp.target(successor, LongListener.class).fences()).containsExactly(2);
				assertThat(logs.messages("INFO")).noneMatch((message) -> message.contains("is paused at offset"));
			}
		}
	}

	private static TestApp app(Store store, String database, String topic, String role, String group) {
		return store.configure(TestApp.of(LongHandlerApp.class))
			.database(database)
			.with("topic", topic)
			.with("role", role)
			.with("group", group)
			.with("lease", LEASE.toMillis() + "ms")
			.with("spring.kafka.consumer.properties.session.timeout.ms", 1500)
			.with("spring.kafka.consumer.properties.heartbeat.interval.ms", 500);
	}

	private static IdempotencyStore store(ConfigurableApplicationContext context) {
		return context.getBean(IdempotencyTemplate.class).store();
	}

	private static IdempotencyRecord record(ConfigurableApplicationContext context, String topic) {
		return one(store(context)).find(IdempotencyKey.of(topic, "k")).orElseThrow();
	}

	private static boolean almost(Instant one, Instant other) {
		return Duration.between(one, other).abs().compareTo(Duration.ofMillis(5)) < 0;
	}

	private static String result(ConfigurableApplicationContext context, String topic) {
		Claim claim = one(store(context)).claim(TestDatabase.request(IdempotencyKey.of(topic, "k")));
		return new String(((Claim.Completed) claim).result(), StandardCharsets.UTF_8);
	}

	/**
	 * The store of the keys.
	 */
	enum Store {

		/**
		 * PostgreSQL.
		 */
		JDBC {

			@Override
			TestApp configure(TestApp app) {
				return app;
			}

		},

		/**
		 * MariaDB.
		 */
		MARIADB {

			@Override
			TestApp configure(TestApp app) {
				return app.with("spring.datasource.username", "root").with("spring.datasource.password", "");
			}

			@Override
			String newDatabase() {
				return Servers.newMariaDb();
			}

		},

		/**
		 * Redis.
		 */
		REDIS {

			@Override
			TestApp configure(TestApp app) {
				return app.redis(Servers.redis());
			}

		},

		/**
		 * DynamoDB Local.
		 */
		DYNAMO_DB {

			// The processes of a test share the table.
			@Override
			TestApp configure(TestApp app) {
				return app.dynamoDb(Servers.dynamoDb()).with("idempotency.dynamodb.table", "long-handlers");
			}

		};

		abstract TestApp configure(TestApp app);

		String newDatabase() {
			return Servers.newDatabase();
		}

	}

}
