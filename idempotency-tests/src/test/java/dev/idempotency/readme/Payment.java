/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.readme;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;

import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;

import static org.awaitility.Awaitility.await;

/**
 * A payment and its account for the snippets of the README.
 *
 * @param id the id of the payment, which is also its key and the id of its account
 */
record Payment(String id) {

	static final int AMOUNT = 7;

	static Payment create() {
		return new Payment(UUID.randomUUID().toString());
	}

	// One account per payment, because the topic contains payments of other tests.
	void createAccount(JdbcTemplate jdbc) {
		jdbc.execute("CREATE TABLE account (id text PRIMARY KEY, balance int NOT NULL)");
		jdbc.update("INSERT INTO account VALUES (?, 100)", this.id);
	}

	int charged(JdbcTemplate jdbc) {
		return 100 - jdbc.queryForObject("SELECT balance FROM account", Integer.class);
	}

	static String redis() {
		return "redis://" + Servers.redis().host() + ":" + Servers.redis().port();
	}

	void sendTwice() {
		String json = "{\"paymentId\":\"%1$s\",\"account\":\"%1$s\",\"amount\":%2$d}".formatted(this.id, AMOUNT);
		Kafka.send(Readme.TOPIC, this.id, json);
		Kafka.send(Readme.TOPIC, this.id, json);
	}

	void awaitConsumption(String... groups) {
		for (String group : groups) {
			await().until(() -> Kafka.lag(group, Readme.TOPIC) == 0);
		}
	}

	/**
	 * Return the number of calls to the gateway for this payment.
	 * @param file the file that the gateway writes
	 * @return the number of calls
	 * @throws IOException if the file cannot be read
	 */
	long calls(Path file) throws IOException {
		return Files.readAllLines(file).stream().filter((line) -> line.contains(this.id)).count();
	}

}
