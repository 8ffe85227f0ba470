/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.docs;

import java.util.List;
import java.util.function.UnaryOperator;

import com.zaxxer.hikari.HikariDataSource;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.jdbc.JdbcSchemaMigration;
import dev.idempotency.jdbc.JdbcSchemaValidation;
import dev.idempotency.jdbc.Layout;
import dev.idempotency.outbox.Outbox;
import dev.idempotency.redis.RedisIdempotencyStore;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecords.Change;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.RedisProcess;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TestRedis;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Runs the grants of {@code docs/security.md}, and the library with a user that has
 * exactly these rights.
 */
@Tag("promise-14")
class GrantTests {

	private static final String TABLE = "idempotency_record";

	private static final String OUTBOX = "idempotency_outbox";

	private final Page page = Page.of("security.md");

	@Test
	void grantsOfPostgresAreSufficient() {
		String database = Servers.newDatabase();
		JdbcTemplate admin = Servers.jdbc(database);
		String user = Servers.unique("payments");
		String owner = user + "_migration";
		List.of(user, owner).forEach((role) -> admin.execute("CREATE ROLE " + role + " LOGIN PASSWORD 'secret'"));
		// The default since PostgreSQL 15.
		admin.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC");
		UnaryOperator<String> renamed = (sql) -> sql.replace("payments", user);
		this.page.statementsAfter("PostgreSQL, the user of the migrations")
			.stream()
			.map(renamed)
			.forEach(admin::execute);
		DriverManagerDataSource migration = new DriverManagerDataSource(database, owner, "secret");
		JdbcSchemaMigration.migrate(migration, TABLE);
		JdbcSchemaMigration.migrateOutbox(migration, migration, OUTBOX);
		this.page.statementsAfter("PostgreSQL, the user of the application")
			.stream()
			.map(renamed)
			.forEach(admin::execute);
		admin.execute("CREATE TABLE effect (value text)");
		admin.execute("GRANT SELECT, INSERT ON effect TO " + user);
		Servers.addTopics(1, "grants-keys", "grants-offsets", "grants-sent");
		try (ConfigurableApplicationContext context = TestApp.of(Listeners.class)
			.database(database)
			.with("spring.datasource.username", user)
			.with("spring.datasource.password", "secret")
			.with("idempotency.jdbc.schema", "validate")
			.with("idempotency.cleanup.enabled", true)
			.with("idempotency.outbox.enabled", true)
			.run()) {
			send("grants-keys", "a");
			send("grants-keys", "a");
			Kafka.send(new ProducerRecord<>("grants-offsets", 0, null, "o"));
			send("grants-keys", "b");
			await().untilAsserted(() -> assertThat(Kafka.read("grants-sent")).extracting(ConsumerRecord::value)
				.containsExactly("a", "b"));
			await().untilAsserted(() -> assertThat(admin.queryForList("SELECT value FROM effect", String.class))
				.containsExactlyInAnyOrder("a", "b", "o"));
		}
		assertThat(admin.queryForObject("SELECT count(*) FROM idempotency_record_offset", Integer.class)).isOne();
	}

	private static void send(String topic, String value) {
		ProducerRecord<String, String> record = new ProducerRecord<>(topic, 0, null, value);
		record.headers().add(Kafka.KEY_HEADER, value.getBytes());
		Kafka.send(record);
	}

	@Test
	void grantsOfMariaDbAreSufficient() {
		String url = Servers.newMariaDb();
		String database = url.replaceAll(".*/([^/?]+)\\?.*", "$1");
		String user = Servers.unique("payments");
		JdbcTemplate admin = new JdbcTemplate(new DriverManagerDataSource(url));
		admin.execute("CREATE USER " + user + ", " + user + "_migration");
		UnaryOperator<String> renamed = (sql) -> sql.replace("payments.", database + ".")
			.replaceAll("'payments(\\w*)'@'%'", user + "$1");
		this.page.statementsAfter("MariaDB and MySQL, the user of the migrations")
			.stream()
			.map(renamed)
			.forEach(admin::execute);
		try (HikariDataSource migration = Servers.mySqlPool(url.replace("user=root", "user=" + user + "_migration"))) {
			JdbcSchemaMigration.migrate(migration, TABLE);
			JdbcSchemaMigration.migrateOutbox(migration, migration, OUTBOX);
		}
		this.page.statementsAfter("MariaDB and MySQL, the user of the application")
			.stream()
			.map(renamed)
			.forEach(admin::execute);
		try (HikariDataSource pool = Servers.mySqlPool(url.replace("user=root", "user=" + user))) {
			JdbcSchemaValidation.validate(pool, TABLE, Layout.SINGLE, true);
			JdbcSchemaValidation.validateOutbox(pool, OUTBOX, false, true);
			JdbcIdempotencyStore store = new JdbcIdempotencyStore(pool, TABLE, TestDatabase.TIMEOUT, Layout.SINGLE,
					TestDatabase.PARTITION_INTERVAL, null);
			assertWorks(store);
			assertThatExceptionOfType(RuntimeException.class)
				.isThrownBy(() -> new JdbcTemplate(pool).execute("CREATE TABLE other (id integer)"));
		}
	}

	@Test
	void rulesOfRedisAreSufficient() {
		RedisProcess server = RedisProcess.create();
		try {
			String rule = this.page.blockAfter("The user of the store:");
			server.ask(rule.replace("~idempotency:", "~test:"));
			LettuceConnectionFactory factory = factory(server);
			try (RedisIdempotencyStore store = TestRedis.store(factory, 0)) {
				TestRedis.awaitContact(store);
				claimAndComplete(store);
				assertThatExceptionOfType(RuntimeException.class)
					.isThrownBy(() -> store.records().orElseThrow().overview());
				server.ask(this.page.blockAfter("In addition for the endpoint:"));
				assertWorks(store);
				assertThat(store.records().orElseThrow().overview().scopes()).isNotEmpty();
			}
			finally {
				factory.destroy();
			}
		}
		finally {
			server.stop();
		}
	}

	private static LettuceConnectionFactory factory(RedisProcess server) {
		RedisStandaloneConfiguration configuration = new RedisStandaloneConfiguration(server.host(), server.port());
		configuration.setUsername("payments");
		configuration.setPassword("secret");
		return TestRedis.started(new LettuceConnectionFactory(configuration));
	}

	private static ClaimRequest claimAndComplete(IdempotencyStore store) {
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		assertThat(one(store).claim(request)).isInstanceOf(Claim.Acquired.class);
		assertThat(one(store).renew(request)).isEqualTo(Settlement.SETTLED);
		assertThat(one(store).complete(request, new byte[] { 1 })).isEqualTo(Settlement.SETTLED);
		assertThat(one(store).claim(TestDatabase.request(request.key()))).isInstanceOf(Claim.Completed.class);
		return request;
	}

	private static void assertWorks(IdempotencyStore store) {
		ClaimRequest completed = claimAndComplete(store);
		ClaimRequest failed = TestDatabase.request(TestDatabase.newKey());
		one(store).claim(failed);
		assertThat(one(store).fail(failed, new Failure("Error", "message"))).isEqualTo(Settlement.SETTLED);
		assertThat(store.records().orElseThrow().failed(10, null).records()).isNotEmpty();
		assertThat(store.records().orElseThrow().release(failed.key(), false)).isEqualTo(Change.DONE);
		assertThat(store.records().orElseThrow().evict(completed.key(), false)).isEqualTo(Change.DONE);
	}

	static class Listeners {

		private final JdbcTemplate jdbc;

		private final Outbox outbox;

		Listeners(JdbcTemplate jdbc, Outbox outbox) {
			this.jdbc = jdbc;
			this.outbox = outbox;
		}

		@Idempotent
		@KafkaListener(topics = "grants-keys", groupId = "grants")
		void keys(String value) {
			effect(value);
			this.outbox.send("grants-sent", value, value);
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET)
		@KafkaListener(topics = "grants-offsets", groupId = "grants")
		void offsets(String value) {
			effect(value);
		}

		private void effect(String value) {
			this.jdbc.update("INSERT INTO effect VALUES (?)", value);
		}

	}

}
