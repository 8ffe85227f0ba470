/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.kafka.autoconfigure.KafkaAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.autoconfigure.IdempotencyAutoConfiguration;
import dev.idempotency.autoconfigure.IdempotencyJdbcAutoConfiguration;
import dev.idempotency.autoconfigure.IdempotencyKafkaAutoConfiguration;
import dev.idempotency.autoconfigure.IdempotencyOutboxAutoConfiguration;
import dev.idempotency.outbox.Outbox;

/**
 * A ledger that sends an event for each charge, and statements that consume these events.
 * Its tables have no constraints, so that duplicates are visible.
 */
@Configuration(proxyBeanMethods = false)
@ImportAutoConfiguration({ KafkaAutoConfiguration.class, DataSourceAutoConfiguration.class,
		JdbcTemplateAutoConfiguration.class, DataSourceTransactionManagerAutoConfiguration.class,
		IdempotencyAutoConfiguration.class, IdempotencyJdbcAutoConfiguration.class,
		IdempotencyKafkaAutoConfiguration.class, IdempotencyOutboxAutoConfiguration.class })
public class LedgerApp {

	static final String STARTED = "STARTED";

	static final String SCHEMA = """
			CREATE TABLE account (number text PRIMARY KEY, entries bigint NOT NULL DEFAULT 0);
			CREATE TABLE charge (payment text, account text, entry bigint);
			CREATE TABLE statement_line (line bigint GENERATED ALWAYS AS IDENTITY, payment text, account text, entry bigint)
			""";

	public static void main(String[] args) throws Exception {
		new SpringApplicationBuilder(LedgerApp.class).run(args);
		System.out.println(STARTED);
		// Blocks until the process that started this one ends or closes the stream.
		System.in.transferTo(System.out);
		Runtime.getRuntime().halt(1);
	}

	@Bean
	static Ledger ledger(JdbcTemplate jdbc, Outbox outbox) {
		return new Ledger(jdbc, outbox);
	}

	@Bean
	static Statements statements(JdbcTemplate jdbc) {
		return new Statements(jdbc);
	}

	static String charged(String topic) {
		return topic + "-charged";
	}

	/**
	 * Charges payments of the form "payment account".
	 */
	static class Ledger {

		private final JdbcTemplate jdbc;

		private final Outbox outbox;

		Ledger(JdbcTemplate jdbc, Outbox outbox) {
			this.jdbc = jdbc;
			this.outbox = outbox;
		}

		@Idempotent
		@KafkaListener(topics = "${topic}", groupId = "${topic}-ledger")
		void charge(ConsumerRecord<String, String> payment) {
			String[] parts = payment.value().split(" ");
			Long entry = this.jdbc.queryForObject(
					"UPDATE account SET entries = entries + 1 WHERE number = ? RETURNING entries", Long.class,
					parts[1]);
			this.jdbc.update("INSERT INTO charge VALUES (?, ?, ?)", parts[0], parts[1], entry);
			this.outbox.send(charged(payment.topic()), parts[1], payment.value() + " " + entry);
		}

	}

	/**
	 * Creates statements from events of the form "payment account entry".
	 */
	static class Statements {

		private final JdbcTemplate jdbc;

		Statements(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@Idempotent
		@KafkaListener(topics = "${topic}-charged", groupId = "${topic}-statements")
		void apply(String charge) {
			String[] parts = charge.split(" ");
			this.jdbc.update("INSERT INTO statement_line (payment, account, entry) VALUES (?, ?, ?)", parts[0],
					parts[1], Long.parseLong(parts[2]));
		}

	}

}
