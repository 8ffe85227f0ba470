/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.annotation.Transactional;

/**
 * The handler of every peer: one INSERT in a transaction. The table accepts several
 * charges of a payment, so that doubled ones can be counted.
 */
class Charges {

	private final JdbcTemplate jdbc;

	Charges(JdbcTemplate jdbc) {
		this.jdbc = jdbc;
		// The table already exists when a killed consumer is started again.
		jdbc.execute("CREATE TABLE IF NOT EXISTS charge (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
				+ "payment text NOT NULL, amount int NOT NULL)");
	}

	@Transactional
	void charge(ConsumerRecord<?, ?> record) {
		charge(Workload.key(record));
	}

	@Transactional
	void charge(String payment) {
		this.jdbc.update("INSERT INTO charge (payment, amount) VALUES (?, ?)", payment, 5);
	}

}
