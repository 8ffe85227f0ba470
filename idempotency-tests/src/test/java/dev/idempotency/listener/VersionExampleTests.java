/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.stereotype.Component;

import dev.idempotency.Idempotent;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.DeadLetters;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Runs the example of {@code docs/versions.md}.
 */
@ResourceLock("addresses")
class VersionExampleTests {

	@Test
	@Tag("promise-3")
	@Tag("promise-8")
	void deadLetterThatIsSentAgainDoesNotReplaceNewerContent() {
		String database = Servers.newDatabase();
		JdbcTemplate jdbc = Servers.jdbc(database);
		jdbc.execute("CREATE TABLE address (customer text PRIMARY KEY, line text)");
		Servers.addTopics(1, "addresses", "addresses-dead");
		try (ConfigurableApplicationContext context = TestApp.of(AddressListener.class, DeadLetters.class)
			.database(database)
			.run()) {
			send("1 Old Street", 1);
			send(" ", 2);
			await().untilAsserted(() -> assertThat(DeadLetters.read("addresses")).hasSize(1));
			send("3 New Street", 3);
			send("2 Middle Street", 2);
			await().untilAsserted(() -> assertThat(Kafka.lag("customers", "addresses")).isZero());
			assertThat(context.getBean(DeadLetters.class).outcomes("VersionExampleTests.AddressListener.apply"))
				.containsExactly(Outcome.PROCESSED, Outcome.FAILED, Outcome.FAILED, Outcome.FAILED, Outcome.FAILED,
						Outcome.FAILED, Outcome.FAILED, Outcome.PROCESSED, Outcome.STALE);
		}
		assertThat(jdbc.queryForObject("SELECT line FROM address", String.class)).isEqualTo("3 New Street");
	}

	private static void send(String address, int version) {
		ProducerRecord<String, String> record = new ProducerRecord<>("addresses", 0, "a", address);
		record.headers().add("version", String.valueOf(version).getBytes());
		Kafka.send(record);
	}

	@Test
	void pageContainsTheListenerThatThisTestRuns() throws IOException {
		String source = Files.readString(Path.of("src/test/java", getClass().getName().replace('.', '/') + ".java"));
		String page = Files.readString(Path.of("../docs/versions.md"));
		String example = page.substring(page.indexOf("@Component"), page.indexOf("```\n\n`VersionExampleTests`"));
		assertThat(source.replaceAll("\\s+", " ")).contains("static class"
				+ example.substring(example.indexOf(" AddressListener")).replaceAll("\\s+", " ").stripTrailing());
	}

	// docs/versions.md
	@Component
	static class AddressListener {

		private final JdbcTemplate jdbc;

		AddressListener(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@Idempotent(key = "#change.key()", version = "#headers['version']")
		@KafkaListener(topics = "addresses", groupId = "customers")
		void apply(ConsumerRecord<String, String> change) {
			if (change.value().isBlank()) {
				throw new IllegalArgumentException("An address is blank");
			}
			this.jdbc.update(
					"INSERT INTO address VALUES (?, ?) ON CONFLICT (customer) DO UPDATE SET line = excluded.line",
					change.key(), change.value());
		}

	}

}
