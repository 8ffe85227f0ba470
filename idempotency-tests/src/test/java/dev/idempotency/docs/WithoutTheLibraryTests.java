/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.docs;

import java.time.Duration;
import java.util.List;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Transactional;

import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Runs the listeners of {@code docs/when-not-to-use.md}, which need no idempotency key.
 */
@ResourceLock("prices")
class WithoutTheLibraryTests {

	private static final List<String> TOPICS = List.of("prices", "stock-levels", "new-orders");

	@Test
	void recordsThatAreSentTwiceTakeEffectOnceByThemselves() {
		String database = Servers.newDatabase();
		JdbcTemplate jdbc = Servers.jdbc(database);
		jdbc.execute("CREATE TABLE price (article text PRIMARY KEY, amount integer, version bigint)");
		jdbc.execute("CREATE TABLE stock (article text PRIMARY KEY, quantity integer)");
		jdbc.execute("INSERT INTO stock VALUES ('pen', 0)");
		jdbc.execute("CREATE TABLE placed_order (id text PRIMARY KEY, article text)");
		for (String topic : TOPICS) {
			Servers.addTopics(1, topic);
			for (String value : List.of("1", "2", "2", "1")) {
				Kafka.send(new ProducerRecord<>(topic, 0, "pen", value));
			}
		}
		try (ConfigurableApplicationContext context = TestApp.of(NaturalListeners.class).database(database).run()) {
			TOPICS.forEach((topic) -> await().atMost(Duration.ofSeconds(30))
				.untilAsserted(() -> assertThat(Kafka.lag("natural", topic)).isZero()));
		}
		assertThat(jdbc.queryForObject("SELECT amount FROM price", Integer.class)).isEqualTo(2);
		assertThat(jdbc.queryForObject("SELECT quantity FROM stock", Integer.class)).isOne();
		assertThat(jdbc.queryForList("SELECT id FROM placed_order ORDER BY id", String.class)).containsExactly("1",
				"2");
	}

	@Component
	static class NaturalListeners {

		private final JdbcTemplate jdbc;

		NaturalListeners(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		// An upsert with a version: an old or repeated price changes nothing.
		@KafkaListener(topics = "prices", groupId = "natural")
		void price(ConsumerRecord<String, String> price) {
			this.jdbc.update("INSERT INTO price VALUES (?, ?, ?) ON CONFLICT (article) DO UPDATE "
					+ "SET amount = excluded.amount, version = excluded.version WHERE price.version < excluded.version",
					price.key(), Integer.parseInt(price.value()), Long.parseLong(price.value()));
		}

		// SET instead of an increment: a repeated record sets the same value.
		@KafkaListener(topics = "stock-levels", groupId = "natural")
		void level(ConsumerRecord<String, String> level) {
			this.jdbc.update("UPDATE stock SET quantity = ? WHERE article = ?", Integer.parseInt(level.value()),
					level.key());
		}

		// One insert with a natural key: a copy inserts nothing.
		@Transactional
		@KafkaListener(topics = "new-orders", groupId = "natural")
		void order(ConsumerRecord<String, String> order) {
			this.jdbc.update("INSERT INTO placed_order VALUES (?, ?) ON CONFLICT (id) DO NOTHING", order.value(),
					order.key());
		}

	}

}
