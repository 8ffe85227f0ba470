/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;

import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.MariaDbServer;
import dev.idempotency.testsupport.PostgresServer;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for a database that fails under traffic and returns, with the default error
 * handler of Boot.
 */
@ResourceLock("outages")
@Order(2)
class DatabaseOutageTests {

	private static final Duration RESUMED = Duration.ofSeconds(30);

	private static final Duration OUTAGE = Duration.ofSeconds(20);

	@Test
	@Tag("promise-1")
	@Tag("promise-11")
	void recordsAreProcessedOnceAndNoConsumerLeavesTheGroup() throws Exception {
		PostgresServer server = PostgresServer.create();
		String database = Servers.newDatabase(server);
		interrupt("PostgreSQL", TestApp.of(OutageListeners.class, Transactional.class).database(database),
				Servers.jdbc(database), server::stop, server::start);
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-11")
	@Tag("storm")
	@EnabledIfSystemProperty(named = "test.outage", matches = ".+", disabledReason = "Part of the profile storm")
	void recordsAreProcessedOnceAndNoConsumerLeavesTheGroupOnMariaDb() throws Exception {
		MariaDbServer server = MariaDbServer.create();
		String database = Servers.newMariaDb(server);
		TestApp app = TestApp.of(OutageListeners.class, Transactional.class)
			.database(database)
			.with("spring.datasource.username", "root")
			.with("spring.datasource.password", "");
		interrupt("MariaDB", app, new JdbcTemplate(new DriverManagerDataSource(database)), server::stop, server::start);
	}

	private static void interrupt(String name, TestApp app, JdbcTemplate jdbc, Runnable stop, Runnable start)
			throws Exception {
		jdbc.execute("CREATE TABLE effect (value text)");
		try (OutageTraffic traffic = new OutageTraffic(app.with("spring.datasource.hikari.connection-timeout", 2000))) {
			traffic.listeners().holdOne();
			stop.run();
			// The effect has happened, but its completion cannot reach the server.
			traffic.listeners().letGo();
			traffic.goOn(OUTAGE);
			start.run();
			long back = System.nanoTime();
			assertThat(traffic.resumption(name, back)).isLessThan(RESUMED);
			List<String> sent = traffic.endAndRepeat();
			assertThat(traffic.context()
				.getBean(JdbcTemplate.class)
				.queryForList("SELECT value FROM effect", String.class)).containsExactlyInAnyOrderElementsOf(sent);
			assertThat(traffic.effects().keys()).containsExactlyInAnyOrderElementsOf(sent);
			assertThat(traffic.rebalances()).isZero();
		}
		finally {
			stop.run();
		}
	}

	@Configuration(proxyBeanMethods = false)
	static class Transactional {

		private final JdbcTemplate jdbc;

		Transactional(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@Idempotent
		@KafkaListener(topics = "${topic}", groupId = "${topic}-transactional")
		void transactional(String value) {
			this.jdbc.update("INSERT INTO effect VALUES (?)", value);
		}

	}

}
