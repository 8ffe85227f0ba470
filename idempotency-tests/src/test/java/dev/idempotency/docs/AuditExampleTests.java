/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.docs;

import java.time.Duration;
import java.util.List;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.slf4j.LoggerFactory;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.stereotype.Component;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.template.IdempotencyAdmin;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Runs the example of {@code docs/audit.md}.
 */
class AuditExampleTests {

	private static final String TOPIC = "audited-payments";

	private static final String SCOPE = "audit/" + TOPIC;

	private final Page page = Page.of("audit.md");

	@Test
	void duplicatesDeclinesTakeoversAndEvictionsAreKept() {
		String database = Servers.newDatabase();
		JdbcTemplate jdbc = Servers.jdbc(database);
		createTable(jdbc);
		Servers.addTopics(1, TOPIC);
		Logger outcomes = (Logger) LoggerFactory.getLogger("dev.idempotency.outcomes");
		outcomes.setLevel(Level.DEBUG);
		try (Logs logs = Logs.about(TOPIC);
				ConfigurableApplicationContext context = TestApp.of(AuditLog.class, Payments.class)
					.database(database)
					.run()) {
			IdempotencyAdmin admin = context.getBean(IdempotencyTemplate.class).admin();
			// Its owner has died.
			one(admin.store()).claim(TestDatabase.request(IdempotencyKey.of(SCOPE, "k1"), Duration.ofMillis(1)));
			send("k1", "10");
			send("k1", "10");
			send("k1", "20");
			send("k2", "-1");
			send("k3", "10");
			await().untilAsserted(() -> assertThat(Kafka.lag("audit", TOPIC)).isZero());
			admin.evict(IdempotencyKey.of(SCOPE, "k3"), false, "operator");
			assertThat(jdbc.queryForList(
					"SELECT concat_ws(' ', event, key, attempt) FROM idempotency_audit ORDER BY id", String.class))
				.containsExactly("PROCESSED k1 2", "DUPLICATE k1 0", "OTHER_CONTENT k1 0", "DECLINED k2 1", "EVICT");
			assertThat(jdbc.queryForList("SELECT detail FROM idempotency_audit ORDER BY id", String.class))
				.satisfiesExactly((detail) -> assertThat(detail).contains(TOPIC).contains("offset 0"),
						(detail) -> assertThat(detail).contains("offset 1"),
						(detail) -> assertThat(detail).contains("offset 2"),
						(detail) -> assertThat(detail).contains("offset 3"),
						(detail) -> assertThat(detail).contains("k3").endsWith("by 'operator'"));
			assertThat(logs.messages("DEBUG")).hasSize(3)
				.first()
				.isEqualTo("DUPLICATE: key 'k1' in scope '" + SCOPE
						+ "' (listener AuditExampleTests.Payments.pay, topic " + TOPIC + ", partition 0, offset 1)");
			assertThat(jdbc.queryForList(this.page.blockAfter("Takeovers:"))).hasSize(1);
		}
		finally {
			outcomes.setLevel(null);
		}
	}

	private void createTable(JdbcTemplate jdbc) {
		this.page.statementsAfter("Create the table").forEach(jdbc::execute);
	}

	private static void send(String key, String amount) {
		ProducerRecord<String, String> record = new ProducerRecord<>(TOPIC, 0, null, amount);
		record.headers().add(Kafka.KEY_HEADER, key.getBytes());
		Kafka.send(record);
	}

	// The figures of docs/audit.md: -Dtest=AuditExampleTests -Dtest.audit
	@Test
	@EnabledIfSystemProperty(named = "test.audit", matches = ".*")
	void measureTheCost() {
		String database = Servers.newDatabase();
		createTable(Servers.jdbc(database));
		ApplicationContextRunner runner = Contexts.all().withPropertyValues("spring.datasource.url=" + database);
		runner.run((without) -> runner.withBean(AuditLog.class).run((with) -> {
			for (Mode mode : List.of(Mode.TRANSACTIONAL, Mode.LEASED)) {
				for (int round = 0; round < 7; round++) {
					String name = mode + " " + round;
					System.out.println(name + " without " + rates(without.getBean(IdempotencyTemplate.class), mode)
							+ " with " + rates(with.getBean(IdempotencyTemplate.class), mode));
				}
			}
		}));
	}

	private static List<Long> rates(IdempotencyTemplate template, Mode mode) {
		String scope = Servers.unique("cost");
		return List.of(rate(template, mode, scope), rate(template, mode, scope));
	}

	private static long rate(IdempotencyTemplate template, Mode mode, String scope) {
		int count = 3000;
		long start = System.nanoTime();
		for (int i = 0; i < count; i++) {
			template.operation(scope, "key" + i).mode(mode).execute(() -> {
			});
		}
		return count * 1_000_000_000L / (System.nanoTime() - start);
	}

	@Component
	static class Payments {

		@Idempotent(mode = Mode.LEASED)
		@KafkaListener(topics = TOPIC, groupId = "audit")
		void pay(String amount) {
			if (amount.startsWith("-")) {
				throw new OperationDeclinedException("negative amount");
			}
		}

	}

}
