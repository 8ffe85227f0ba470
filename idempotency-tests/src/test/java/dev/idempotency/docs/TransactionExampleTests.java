/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.docs;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.stereotype.Service;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.Idempotent;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Runs the examples of {@code docs/transactions.md}.
 */
@Tag("promise-5")
class TransactionExampleTests {

	private static JdbcTemplate jdbc;

	private static ConfigurableApplicationContext context;

	@BeforeAll
	static void start() {
		Servers.addTopics(1, "reservations");
		String database = Servers.newDatabase();
		jdbc = Servers.jdbc(database);
		jdbc.execute("CREATE TABLE booking (id text, seats integer CHECK (seats > 0))");
		jdbc.execute("CREATE TABLE seat_count (total integer)");
		jdbc.execute("CREATE TABLE audit (id text)");
		jdbc.execute("CREATE TABLE orders (id text)");
		jdbc.update("INSERT INTO seat_count VALUES (0)");
		context = TestApp
			.of(ErrorHandling.class, BookingListener.class, Bookings.class, Audit.class, OrderService.class)
			.database(database)
			.run();
	}

	@AfterAll
	static void stop() {
		context.close();
	}

	private static int count(String sql) {
		return jdbc.queryForObject(sql, Integer.class);
	}

	@Test
	void handlerAndItsServicesCommitTogether() {
		send("1", "2");
		send("2", "-1");
		send("1", "2");
		send("3", "3");
		await().untilAsserted(() -> assertThat(count("SELECT total FROM seat_count")).isEqualTo(5));
		assertThat(jdbc.queryForList("SELECT id FROM booking", String.class)).containsExactly("1", "3");
		assertThat(jdbc.queryForList("SELECT id FROM audit", String.class)).containsExactly("1", "2", "2", "3");
		assertThat(jdbc.queryForList(
				"SELECT key || state::text FROM idempotency_record WHERE scope = 'seats/reservations'", String.class))
			.containsExactlyInAnyOrder("1C", "2F", "3C");
	}

	private static void send(String id, String seats) {
		ProducerRecord<String, String> record = new ProducerRecord<>("reservations", 0, null, id + ":" + seats);
		record.headers().add(Kafka.KEY_HEADER, id.getBytes());
		Kafka.send(record);
	}

	@Test
	void callerDecidesAboutTheTransactionThatTheTemplateJoins() {
		OrderService orders = context.getBean(OrderService.class);
		TransactionTemplate transaction = new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
		transaction.executeWithoutResult((status) -> {
			orders.place("o1");
			status.setRollbackOnly();
		});
		assertThat(count("SELECT count(*) FROM orders")).isZero();
		orders.place("o1");
		orders.place("o1");
		assertThat(count("SELECT count(*) FROM orders")).isOne();
	}

	static class ErrorHandling {

		@Bean
		DefaultErrorHandler errorHandler() {
			return new DefaultErrorHandler(new FixedBackOff(0, 1));
		}

	}

	// docs/transactions.md
	static class BookingListener {

		private final JdbcTemplate jdbc;

		private final Bookings bookings;

		private final Audit audit;

		BookingListener(JdbcTemplate jdbc, Bookings bookings, Audit audit) {
			this.jdbc = jdbc;
			this.bookings = bookings;
			this.audit = audit;
		}

		@KafkaListener(topics = "reservations", groupId = "seats")
		@Idempotent
		void book(String booking) {
			String id = booking.split(":")[0];
			int seats = Integer.parseInt(booking.split(":")[1]);
			this.audit.received(id);
			this.jdbc.update("UPDATE seat_count SET total = total + ?", seats);
			this.bookings.add(id, seats);
		}

	}

	@Service
	static class Bookings {

		private final JdbcTemplate jdbc;

		Bookings(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@Transactional
		void add(String id, int seats) {
			this.jdbc.update("INSERT INTO booking VALUES (?, ?)", id, seats);
		}

	}

	@Service
	static class Audit {

		private final JdbcTemplate jdbc;

		Audit(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@Transactional(propagation = Propagation.REQUIRES_NEW)
		void received(String id) {
			this.jdbc.update("INSERT INTO audit VALUES (?)", id);
		}

	}

	@Service
	static class OrderService {

		private final JdbcTemplate jdbc;

		private final IdempotencyTemplate template;

		OrderService(JdbcTemplate jdbc, IdempotencyTemplate template) {
			this.jdbc = jdbc;
			this.template = template;
		}

		@Transactional
		void place(String id) {
			this.template.operation("orders", id).execute(() -> this.jdbc.update("INSERT INTO orders VALUES (?)", id));
		}

	}

}
