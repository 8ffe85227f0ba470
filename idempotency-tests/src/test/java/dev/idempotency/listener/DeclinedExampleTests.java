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
import org.springframework.messaging.handler.annotation.SendTo;
import org.springframework.stereotype.Component;

import dev.idempotency.Idempotent;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Runs the example of {@code docs/declining.md}.
 */
@ResourceLock("withdrawals")
class DeclinedExampleTests {

	@Test
	@Tag("promise-3")
	@Tag("promise-8")
	void declinedWithdrawalIsDeclinedAgain() {
		String database = Servers.newDatabase();
		JdbcTemplate jdbc = Servers.jdbc(database);
		jdbc.execute("CREATE TABLE account (id text PRIMARY KEY, balance integer)");
		jdbc.execute("CREATE TABLE attempt (id text)");
		jdbc.update("INSERT INTO account VALUES ('a', 10)");
		Servers.addTopics(1, "withdrawals", "withdrawal-replies");
		try (ConfigurableApplicationContext context = TestApp.of(WithdrawalListener.class).database(database).run()) {
			send("w1", 20);
			awaitReplies("DECLINED");
			jdbc.update("UPDATE account SET balance = 100");
			send("w1", 20);
			send("w2", 20);
			awaitReplies("DECLINED", "DECLINED", "DONE");
		}
		assertThat(jdbc.queryForObject("SELECT balance FROM account", Integer.class)).isEqualTo(80);
		assertThat(jdbc.queryForObject("SELECT count(*) FROM attempt", Integer.class)).isOne();
	}

	private static void send(String key, int amount) {
		ProducerRecord<String, String> record = new ProducerRecord<>("withdrawals", 0, "a", String.valueOf(amount));
		record.headers().add(Kafka.KEY_HEADER, key.getBytes());
		Kafka.send(record);
	}

	private static void awaitReplies(String... replies) {
		await().untilAsserted(() -> assertThat(Kafka.read("withdrawal-replies")).extracting(ConsumerRecord::value)
			.containsExactly(replies));
	}

	@Test
	void pageContainsTheListenerThatThisTestRuns() throws IOException {
		String source = Files.readString(Path.of("src/test/java", getClass().getName().replace('.', '/') + ".java"));
		String page = Files.readString(Path.of("../docs/declining.md"));
		String example = page.substring(page.indexOf("@Component"), page.indexOf("```\n\n`DeclinedExampleTests`"));
		assertThat(source.replaceAll("\\s+", " ")).contains("static class"
				+ example.substring(example.indexOf(" WithdrawalListener")).replaceAll("\\s+", " ").stripTrailing());
	}

	// docs/declining.md
	@Component
	static class WithdrawalListener {

		private final JdbcTemplate jdbc;

		WithdrawalListener(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@Idempotent
		@KafkaListener(topics = "withdrawals", groupId = "accounts")
		@SendTo("withdrawal-replies")
		String withdraw(ConsumerRecord<String, String> withdrawal) {
			this.jdbc.update("INSERT INTO attempt VALUES (?)", withdrawal.key());
			int amount = Integer.parseInt(withdrawal.value());
			int changed = this.jdbc.update("UPDATE account SET balance = balance - ? WHERE id = ? AND balance >= ?",
					amount, withdrawal.key(), amount);
			if (changed == 0) {
				throw new OperationDeclinedException("balance too low", "DECLINED");
			}
			return "DONE";
		}

	}

}
