/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

import java.io.IOException;
import java.util.List;

import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.kafka.autoconfigure.KafkaAutoConfiguration;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.autoconfigure.IdempotencyAutoConfiguration;
import dev.idempotency.autoconfigure.IdempotencyJdbcAutoConfiguration;
import dev.idempotency.autoconfigure.IdempotencyKafkaAutoConfiguration;

/**
 * An application that charges each payment with several listeners: unprotected, with two
 * hand-written checks that are wrong, and protected. The listeners have a consumer group
 * each and write what they have charged.
 */
@Configuration(proxyBeanMethods = false)
@ImportAutoConfiguration({ KafkaAutoConfiguration.class, DataSourceAutoConfiguration.class,
		JdbcTemplateAutoConfiguration.class, DataSourceTransactionManagerAutoConfiguration.class,
		IdempotencyAutoConfiguration.class, IdempotencyJdbcAutoConfiguration.class,
		IdempotencyKafkaAutoConfiguration.class })
public class NaiveApp {

	static final String UNPROTECTED = "unprotected";

	static final String INSERT_FIRST = "insert-first";

	static final String LOOK_UP = "look-up";

	static final String TRANSACTIONAL = "transactional";

	static final String LEASED = "leased";

	static final List<String> LISTENERS = List.of(UNPROTECTED, INSERT_FIRST, LOOK_UP, TRANSACTIONAL, LEASED);

	static final int THREADS = 3;

	static final String STARTED = "STARTED";

	// Longer than the statements of a busy machine, so that a kill comes between two
	// effects.
	private static final int WORK_MILLIS = 40;

	private final JdbcTemplate jdbc;

	NaiveApp(JdbcTemplate jdbc) {
		this.jdbc = jdbc;
	}

	public static void main(String[] args) throws IOException {
		new SpringApplicationBuilder(NaiveApp.class).run(args);
		System.out.println(STARTED);
		// Keeps the process running.
		System.in.transferTo(System.err);
	}

	static void createTables(JdbcTemplate jdbc) {
		// Without a unique key on the payment, so that duplicates are visible.
		jdbc.execute("CREATE TABLE charge (position bigserial, listener text, payment text, process bigint)");
		jdbc.execute("CREATE TABLE seen (listener text, payment text, PRIMARY KEY (listener, payment))");
	}

	@KafkaListener(topics = "${topic}", groupId = "${topic}-" + UNPROTECTED, concurrency = "" + THREADS)
	void unprotected(String payment) throws InterruptedException {
		work();
		charge(UNPROTECTED, payment);
	}

	// Loses the payment if the process dies between the two transactions.
	@KafkaListener(topics = "${topic}", groupId = "${topic}-" + INSERT_FIRST, concurrency = "" + THREADS)
	void insertFirst(String payment) throws InterruptedException {
		boolean isNew = this.jdbc.update("INSERT INTO seen VALUES (?, ?) ON CONFLICT DO NOTHING", INSERT_FIRST,
				payment) == 1;
		if (isNew) {
			work();
			charge(INSERT_FIRST, payment);
		}
	}

	// Charges the payment twice if the process dies between the two transactions.
	@KafkaListener(topics = "${topic}", groupId = "${topic}-" + LOOK_UP, concurrency = "" + THREADS)
	void lookUp(String payment) throws InterruptedException {
		List<String> seen = this.jdbc.queryForList("SELECT payment FROM seen WHERE listener = ? AND payment = ?",
				String.class, LOOK_UP, payment);
		if (seen.isEmpty()) {
			charge(LOOK_UP, payment);
			work();
			this.jdbc.update("INSERT INTO seen VALUES (?, ?)", LOOK_UP, payment);
		}
	}

	@Idempotent(mode = Mode.TRANSACTIONAL)
	@KafkaListener(topics = "${topic}", groupId = "${topic}-" + TRANSACTIONAL, concurrency = "" + THREADS)
	void transactional(String payment) throws InterruptedException {
		work();
		charge(TRANSACTIONAL, payment);
	}

	@Idempotent(mode = Mode.LEASED)
	@KafkaListener(topics = "${topic}", groupId = "${topic}-" + LEASED, concurrency = "" + THREADS)
	void leased(String payment) throws InterruptedException {
		charge(LEASED, payment);
		work();
	}

	private static void work() throws InterruptedException {
		Thread.sleep(WORK_MILLIS);
	}

	private void charge(String listener, String payment) {
		this.jdbc.update("INSERT INTO charge (listener, payment, process) VALUES (?, ?, ?)", listener, payment,
				ProcessHandle.current().pid());
	}

}
