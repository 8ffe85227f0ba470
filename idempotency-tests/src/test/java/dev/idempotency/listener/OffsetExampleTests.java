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
import java.time.Duration;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.stereotype.Component;

import dev.idempotency.Idempotent;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Runs the example of {@code docs/offsets.md}.
 */
@ResourceLock("movements")
class OffsetExampleTests {

	@Test
	@Tag("promise-3")
	void stockIsMovedOnceForEachRecord() {
		String database = Servers.newDatabase();
		JdbcTemplate jdbc = Servers.jdbc(database);
		jdbc.execute("CREATE TABLE stock (article text PRIMARY KEY, quantity integer)");
		jdbc.update("INSERT INTO stock VALUES ('chair', 10)");
		Servers.addTopics(1, "movements");
		try (ConfigurableApplicationContext context = TestApp.of(MovementListener.class).database(database).run()) {
			Kafka.send(new ProducerRecord<>("movements", 0, "chair", "-2"));
			Kafka.send(new ProducerRecord<>("movements", 0, "chair", "5"));
			awaitConsumption();
			KafkaListenerEndpointRegistry registry = context.getBean(KafkaListenerEndpointRegistry.class);
			registry.stop();
			Kafka.rewind("stock", "movements");
			registry.start();
			awaitConsumption();
		}
		assertThat(jdbc.queryForObject("SELECT quantity FROM stock", Integer.class)).isEqualTo(13);
		assertThat(jdbc.queryForObject("SELECT count(*) FROM idempotency_record_offset", Integer.class)).isOne();
		assertThat(jdbc.queryForObject("SELECT count(*) FROM idempotency_record", Integer.class)).isZero();
	}

	private static void awaitConsumption() {
		await().atMost(Duration.ofSeconds(30))
			.untilAsserted(() -> assertThat(Kafka.lag("stock", "movements")).isZero());
	}

	@Test
	void pageContainsTheListenerThatThisTestRuns() throws IOException {
		String source = Files.readString(Path.of("src/test/java", getClass().getName().replace('.', '/') + ".java"));
		String page = Files.readString(Path.of("../docs/offsets.md"));
		String example = page.substring(page.indexOf("@Component"), page.indexOf("```\n\n`OffsetExampleTests`"));
		assertThat(source.replaceAll("\\s+", " ")).contains("static class"
				+ example.substring(example.indexOf(" MovementListener")).replaceAll("\\s+", " ").stripTrailing());
	}

	// docs/offsets.md
	@Component
	static class MovementListener {

		private final JdbcTemplate jdbc;

		MovementListener(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET)
		@KafkaListener(topics = "movements", groupId = "stock")
		void move(ConsumerRecord<String, String> movement) {
			this.jdbc.update("UPDATE stock SET quantity = quantity + ? WHERE article = ?",
					Integer.parseInt(movement.value()), movement.key());
		}

	}

}
