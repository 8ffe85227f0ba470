/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.docs;

import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.dao.DuplicateKeyException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Idempotent;
import dev.idempotency.store.Claim;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.Observers;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TestRedis;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Runs the steps of {@code docs/migrating.md}.
 */
@Tag("promise-3")
class MigrationTests {

	private static final String SCOPE = "ledger/transfers";

	private final Page page = Page.of("migrating.md");

	@Test
	@Tag("promise-1")
	@Tag("promise-2")
	void operationsTakeEffectOnceInEachStep() throws Exception {
		Servers.addTopics(1, "transfers");
		String database = Servers.newDatabase();
		JdbcTemplate jdbc = Servers.jdbc(database);
		jdbc.execute("CREATE TABLE account (id text PRIMARY KEY, balance integer)");
		jdbc.execute("CREATE TABLE processed_message (id text PRIMARY KEY, created_at timestamptz DEFAULT now())");
		jdbc.update("INSERT INTO account VALUES ('a', 0)");
		OldConsumer old = new OldConsumer(database);
		old.consume("1");
		try (ConfigurableApplicationContext both = TestApp.of(BothListener.class).database(database).run()) {
			send("1");
			send("2");
			awaitBalance(jdbc, 2);
			awaitRecords(jdbc, 2);
			old.consume("2");
			// The old consumer has not committed yet when the new one receives the
			// record.
			CompletableFuture<Void> committed = old.consumeSlowly("3", () -> {
				send("3");
				await().until(() -> isWaiting(jdbc));
			});
			committed.join();
			send("4");
			awaitRecords(jdbc, 4);
			assertThat(balance(jdbc)).isEqualTo(4);
		}
		old.consume("5");
		this.page.statementsAfter("PostgreSQL:").forEach(jdbc::execute);
		List<String> imported = rows(jdbc);
		assertThat(imported).hasSize(5);
		this.page.statementsAfter("PostgreSQL:").forEach(jdbc::execute);
		assertThat(rows(jdbc)).isEqualTo(imported);
		try (ConfigurableApplicationContext last = TestApp.of(NewListener.class).database(database).run()) {
			for (String id : List.of("1", "2", "3", "4", "5", "6")) {
				send(id);
			}
			awaitRecords(jdbc, 6);
			assertThat(balance(jdbc)).isEqualTo(6);
		}
	}

	private static void send(String id) {
		Kafka.send(new ProducerRecord<>("transfers", 0, null, id));
	}

	private static int balance(JdbcTemplate jdbc) {
		return jdbc.queryForObject("SELECT balance FROM account", Integer.class);
	}

	private static void awaitBalance(JdbcTemplate jdbc, int balance) {
		await().untilAsserted(() -> assertThat(balance(jdbc)).isEqualTo(balance));
	}

	private static void awaitRecords(JdbcTemplate jdbc, int number) {
		await().untilAsserted(() -> assertThat(rows(jdbc)).hasSize(number));
	}

	private static List<String> rows(JdbcTemplate jdbc) {
		return jdbc.queryForList("SELECT r::text FROM idempotency_record r WHERE state = 'C' ORDER BY key",
				String.class);
	}

	private static boolean isWaiting(JdbcTemplate jdbc) {
		return jdbc.queryForObject("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
				+ "AND wait_event_type = 'Lock'", Integer.class) > 0;
	}

	@Test
	void importedKeyOfPostgresIsADuplicate() {
		try (TestDatabase database = TestDatabase.create()) {
			database.jdbc().execute("CREATE TABLE processed_message (id text PRIMARY KEY, created_at timestamptz)");
			Instant now = Instant.now();
			database.jdbc()
				.update("INSERT INTO processed_message VALUES ('Zahlung-ü', ?), ('old', ?)", Timestamp.from(now),
						Timestamp.from(now.minus(Duration.ofDays(8))));
			this.page.statementsAfter("PostgreSQL:").forEach(database.jdbc()::execute);
			assertImported(database, now);
		}
	}

	@Test
	void failedKeyOfAProcessedMessageIsImportedAfterItsDeletion() {
		try (TestDatabase database = TestDatabase.create()) {
			database.jdbc().execute("CREATE TABLE processed_message (id text PRIMARY KEY, created_at timestamptz)");
			database.jdbc().update("INSERT INTO processed_message VALUES ('Zahlung-ü', now())");
			List<String> statements = this.page.statementsAfter("PostgreSQL:");
			statements.forEach(database.jdbc()::execute);
			database.jdbc().update("UPDATE idempotency_record SET state = 'F', completed_at = NULL");
			statements.forEach(database.jdbc()::execute);
			assertThat(rows(database.jdbc())).isEmpty();
			this.page.statementsAfter("Keys of messages that an old instance has processed")
				.forEach(database.jdbc()::execute);
			statements.forEach(database.jdbc()::execute);
			assertImported(database, Instant.now());
		}
	}

	@Test
	void importedKeyOfMariaDbIsADuplicate() {
		try (TestDatabase database = TestDatabase.mariaDb()) {
			database.jdbc()
				.execute("CREATE TABLE processed_message (id varchar(100) PRIMARY KEY, created_at timestamp)");
			database.jdbc()
				.execute("INSERT INTO processed_message VALUES ('Zahlung-ü', now()), ('old', now() - INTERVAL 8 DAY)");
			SingleConnectionDataSource session = new SingleConnectionDataSource(database.url(), true);
			JdbcTemplate jdbc = new JdbcTemplate(session);
			jdbc.execute("SET time_zone = '+05:00'");
			for (int i = 0; i < 2; i++) {
				this.page.statementsAfter("MariaDB and MySQL:").forEach(jdbc::execute);
			}
			session.destroy();
			assertImported(database, Instant.now());
		}
	}

	private static void assertImported(TestDatabase database, Instant now) {
		IdempotencyKey key = IdempotencyKey.of(SCOPE, "Zahlung-ü");
		assertThat(one(database.store()).claim(TestDatabase.request(key))).isInstanceOf(Claim.Completed.class);
		IdempotencyRecord record = database.record(key);
		assertThat(record.state()).isEqualTo(State.COMPLETED);
		assertThat(Duration.between(record.createdAt(), now).abs()).isLessThan(Duration.ofMinutes(5));
		assertThat(Duration.between(record.createdAt(), record.expiresAt())).isEqualTo(Duration.ofDays(7));
		assertThat(one(database.store()).find(IdempotencyKey.of(SCOPE, "old"))).isEmpty();
	}

	@Test
	void keysAreImportedIntoAnyStore() {
		try (TestRedis redis = TestRedis.create();
				IdempotencyTemplate template = new IdempotencyTemplate(redis.store(),
						new Settings(null, false, Observers.none()))) {
			IdempotencyKey key = IdempotencyKey.of(Servers.unique("ledger/transfers"), "1");
			KeyImport keys = new KeyImport(template, key.scope(), Duration.ofDays(7));
			keys.add(List.of("1", "2", "2"));
			keys.add(List.of("2", "3"));
			assertThat(one(redis.store()).claim(TestDatabase.request(key))).isInstanceOf(Claim.Completed.class);
		}
	}

	// docs/migrating.md
	static class KeyImport {

		private final IdempotencyTemplate template;

		private final String scope;

		private final Duration retention;

		KeyImport(IdempotencyTemplate template, String scope, Duration retention) {
			this.template = template;
			this.scope = scope;
			this.retention = retention;
		}

		void add(List<String> ids) {
			List<BatchItem> items = new ArrayList<>();
			for (String id : ids) {
				items.add(new BatchItem(
						this.template.operation("import", id).scope(this.scope).retention(this.retention).build(), id));
			}
			BatchResult<Object> result = this.template.executeAll(items, ResultCodec.none(), (due) -> null);
			if (result.failure() != null || !result.blocked().isEmpty()) {
				throw new IllegalStateException("Not all keys were imported. Repeat the import", result.failure());
			}
		}

	}

	// docs/migrating.md
	static class BothListener {

		private final JdbcTemplate jdbc;

		BothListener(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@KafkaListener(topics = "transfers", groupId = "ledger")
		@Idempotent(key = "#payload")
		void transfer(String id) {
			int inserted = this.jdbc.update("INSERT INTO processed_message (id) VALUES (?) ON CONFLICT DO NOTHING", id);
			if (inserted == 0) {
				return;
			}
			this.jdbc.update("UPDATE account SET balance = balance + 1 WHERE id = 'a'");
		}

	}

	// docs/migrating.md
	static class NewListener {

		private final JdbcTemplate jdbc;

		NewListener(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@KafkaListener(topics = "transfers", groupId = "ledger")
		@Idempotent(key = "#payload")
		void transfer(String id) {
			this.jdbc.update("UPDATE account SET balance = balance + 1 WHERE id = 'a'");
		}

	}

	/**
	 * An instance of the version before the library.
	 */
	static class OldConsumer {

		private final JdbcTemplate jdbc;

		private final TransactionTemplate transaction;

		OldConsumer(String database) {
			this.jdbc = new JdbcTemplate(Servers.jdbc(database).getDataSource());
			this.transaction = new TransactionTemplate(new JdbcTransactionManager(this.jdbc.getDataSource()));
		}

		void consume(String id) {
			try {
				this.transaction.executeWithoutResult((status) -> transfer(id));
			}
			catch (DuplicateKeyException ex) {
				// The message has been processed.
			}
		}

		CompletableFuture<Void> consumeSlowly(String id, Runnable beforeCommit) throws InterruptedException {
			CountDownLatch started = new CountDownLatch(1);
			CompletableFuture<Void> committed = CompletableFuture
				.runAsync(() -> this.transaction.executeWithoutResult((status) -> {
					transfer(id);
					started.countDown();
					beforeCommit.run();
				}));
			started.await();
			return committed;
		}

		private void transfer(String id) {
			this.jdbc.update("INSERT INTO processed_message (id) VALUES (?)", id);
			this.jdbc.update("UPDATE account SET balance = balance + 1 WHERE id = 'a'");
		}

	}

}
