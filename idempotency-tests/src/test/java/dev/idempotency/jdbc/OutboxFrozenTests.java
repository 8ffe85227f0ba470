/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import net.ttddyy.dsproxy.support.ProxyDataSourceBuilder;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.outbox.TimeOrderedUuid;
import dev.idempotency.test.kill.ChildProcess;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for a relay that is frozen while it reads. The server has not sent the whole
 * response then: its session is active, not idle.
 */
@Tag("promise-1")
class OutboxFrozenTests {

	private static final String TABLE = "idempotency_outbox";

	// The messages that the broker receives.
	private static final int LARGE = 1_000_000;

	private static final int MESSAGES = 17;

	@RegisterExtension
	TestDatabase database = TestDatabase.create();

	@AfterEach
	void thaw() {
		StallingSocketFactory.thaw();
	}

	// The messages are larger than the socket buffers of both sides.
	static List<OutboxRow> largeRows(String topic) {
		Random random = new Random(1);
		return IntStream.range(0, MESSAGES).mapToObj((i) -> {
			byte[] payload = new byte[LARGE];
			random.nextBytes(payload);
			return new OutboxRow(TimeOrderedUuid.next(), topic, ("key" + i).getBytes(StandardCharsets.UTF_8), payload,
					List.of(), "id", "a", "1", "b");
		}).toList();
	}

	@Test
	void lanesAreUnlockedWhenTheRelayStopsReading() throws InterruptedException {
		JdbcSchemaMigration.migrateOutbox(this.database.pool(), this.database.pool(), TABLE);
		try (HikariDataSource pool = Servers
			.pool(this.database.url() + "?socketFactory=" + StallingSocketFactory.class.getName())) {
			// The limits are those of a relay in seconds instead of minutes.
			DataSource impatient = ProxyDataSourceBuilder.create(pool)
				.queryTransformer((query) -> query.getQuery().replace("'180000'", "'2000'").replace("'60s'", "'2s'"))
				.build();
			JdbcOutboxStore store = store(impatient);
			JdbcOutboxStore sender = store(this.database.pool());
			new TransactionTemplate(new JdbcTransactionManager(this.database.pool()))
				.executeWithoutResult((status) -> sender.insert(largeRows("topic")));
			StallingSocketFactory.stallAfter(LARGE, false);
			Thread frozen = new Thread(() -> store.claim(100, Set.of()).close());
			frozen.setUncaughtExceptionHandler((thread, error) -> {
			});
			frozen.start();
			Awaitility.await().untilAsserted(() -> assertThat(freeLanes()).isLessThan(OutboxSql.LANES));
			Awaitility.await()
				.atMost(Duration.ofSeconds(15))
				.untilAsserted(() -> assertThat(freeLanes()).isEqualTo(OutboxSql.LANES));
			StallingSocketFactory.thaw();
			frozen.join();
		}
	}

	// With the limits of a relay the test takes more than a minute.
	@Test
	@EnabledIfSystemProperty(named = "test.frozen", matches = "true")
	void anotherRelayPublishesTheMessagesOfAFrozenProcess() throws Exception {
		String topic = Servers.newTopic("frozen", 1);
		JdbcSchemaMigration.migrateOutbox(this.database.pool(), this.database.pool(), TABLE);
		TestApp app = TestApp.of(FrozenApp.class)
			.with("idempotency.outbox.enabled", true)
			.with("spring.datasource.hikari.minimum-idle", 4);
		try (ChildProcess frozen = app
			.database(this.database.url() + "?socketFactory=" + StallingSocketFactory.class.getName())
			.fork()) {
			frozen.awaitLine(FrozenApp.STARTED);
			JdbcOutboxStore sender = store(this.database.pool());
			new TransactionTemplate(new JdbcTransactionManager(this.database.pool()))
				.executeWithoutResult((status) -> sender.insert(largeRows(topic)));
			Awaitility.await()
				.untilAsserted(() -> assertThat(Files.readString(Path.of("/proc/" + frozen.pid() + "/stat")))
					.contains(") T "));
			long start = System.nanoTime();
			try (ConfigurableApplicationContext other = app.database(this.database.url()).run()) {
				awaitPublished(sender);
			}
			long seconds = Duration.ofNanos(System.nanoTime() - start).toSeconds();
			frozen.resume();
			new TransactionTemplate(new JdbcTransactionManager(this.database.pool()))
				.executeWithoutResult((status) -> sender.insert(largeRows(topic)));
			awaitPublished(sender);
			List<String> keys = Kafka.read(topic).stream().map(ConsumerRecord::key).toList();
			assertThat(Set.copyOf(keys)).hasSize(MESSAGES);
			System.out.printf("Outbox: published %d s after the freeze, %d messages, %d of them repeated%n", seconds,
					2 * MESSAGES, keys.size() - 2 * MESSAGES);
		}
	}

	private static void awaitPublished(JdbcOutboxStore store) {
		Awaitility.await()
			.atMost(Duration.ofMinutes(3))
			.untilAsserted(() -> assertThat(store.status().pending()).isZero());
	}

	private static JdbcOutboxStore store(DataSource dataSource) {
		return new JdbcOutboxStore(dataSource, new JdbcTransactionManager(dataSource), TABLE, Duration.ofSeconds(20),
				Duration.ofHours(1), false);
	}

	private int freeLanes() {
		return this.database.jdbc()
			.queryForList("SELECT lane FROM idempotency_outbox_lane FOR UPDATE SKIP LOCKED")
			.size();
	}

}
