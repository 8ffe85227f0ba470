/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.docs;

import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.BackOff;
import org.springframework.kafka.annotation.DltHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;
import org.springframework.stereotype.Component;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Runs the examples of {@code docs/failures.md}.
 */
@Tag("promise-1")
@ResourceLock("bookings")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class FailureExamplesTests {

	private ConfigurableApplicationContext context;

	private JdbcTemplate jdbc;

	@BeforeAll
	void start() {
		Servers.addTopics(1, "bookings", "bookings-dlt", "mails");
		String database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(database);
		this.jdbc.execute("CREATE TABLE hotel (id text PRIMARY KEY, rooms integer)");
		this.jdbc.execute("INSERT INTO hotel VALUES ('sea', 10)");
		this.context = TestApp.of(Bookings.class, Mails.class, FailureConfiguration.class)
			.database(database)
			.with("failures.first-pause", "1ms")
			.with("mails.first-pause", 10)
			.run();
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@Test
	void failedBookingIsADeadLetterAndIsBookedOnceWhenItIsSentAgain() {
		Kafka.send("bookings", "b-1", "sea");
		Kafka.send("bookings", "b-2", "mountain");
		await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> assertThat(Kafka.read("bookings-dlt")).hasSize(1));
		assertThat(state("b-1")).isEqualTo("C1");
		assertThat(state("b-2")).isEqualTo("F5");
		this.jdbc.execute("INSERT INTO hotel VALUES ('mountain', 10)");
		ConsumerRecord<String, String> dead = Kafka.read("bookings-dlt").get(0);
		sendAgain(dead);
		sendAgain(dead);
		await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
			assertThat(Kafka.lag("hotel", "bookings")).isZero();
			assertThat(state("b-2")).isEqualTo("C6");
		});
		assertThat(this.jdbc.queryForList("SELECT rooms FROM hotel", Integer.class)).containsExactly(9, 9);
	}

	private static void sendAgain(ConsumerRecord<String, String> dead) {
		Kafka.send(new ProducerRecord<>("bookings", 0, dead.key(), dead.value(), dead.headers()));
	}

	private String state(String key) {
		return this.jdbc.queryForObject("SELECT state::text || attempt FROM idempotency_record WHERE key = ?",
				String.class, key);
	}

	@Test
	@Tag("promise-3")
	void mailPassesItsRetryTopicsAndReachesTheDeadLetterMethod() {
		Kafka.send("mails", "m-1", "heals");
		Kafka.send("mails", "m-2", "fails");
		Mails mails = TestApp.target(this.context, Mails.class);
		await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
			assertThat(mails.dead).containsExactly("fails");
			assertThat(mails.sent).containsExactly("heals");
		});
		assertThat(state("m-1")).isEqualTo("C2");
		assertThat(state("m-2")).isEqualTo("F3");
	}

	@Component
	static class Bookings {

		private final JdbcTemplate jdbc;

		Bookings(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@Idempotent
		@KafkaListener(topics = "bookings", groupId = "hotel")
		void book(String hotel) {
			int changed = this.jdbc.update("UPDATE hotel SET rooms = rooms - 1 WHERE id = ? AND rooms > 0", hotel);
			if (changed == 0) {
				throw new IllegalStateException("The hotel has no free room");
			}
		}

	}

	@Component
	static class Mails {

		private final Queue<String> sent = new ConcurrentLinkedQueue<>();

		private final Queue<String> dead = new ConcurrentLinkedQueue<>();

		@Idempotent
		@RetryableTopic(attempts = "3", backOff = @BackOff(delayString = "${mails.first-pause:1000}", multiplier = 2))
		@KafkaListener(topics = "mails", groupId = "mailer")
		void send(ConsumerRecord<String, String> mail) {
			boolean firstAttempt = mail.headers().lastHeader("kafka_original-topic") == null;
			if (mail.value().equals("fails") || firstAttempt) {
				throw new IllegalStateException("The mail server refuses the mail");
			}
			this.sent.add(mail.value());
		}

		@DltHandler
		void giveUp(ConsumerRecord<String, String> mail) {
			this.dead.add(mail.value());
		}

	}

}
