/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.ledger;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Service;

/**
 * The charges of all accounts.
 */
@Service
class Ledger {

	private final JdbcClient jdbc;

	Ledger(JdbcClient jdbc) {
		this.jdbc = jdbc;
	}

	void charge(Payment payment) {
		this.jdbc.sql("INSERT INTO charge (payment, account, amount) VALUES (?, ?, ?)")
			.params(payment.id(), payment.account(), payment.amount())
			.update();
	}

	long charges(Payment payment) {
		return this.jdbc.sql("SELECT count(*) FROM charge WHERE payment = ?")
			.param(payment.id())
			.query(Long.class)
			.single();
	}

}
