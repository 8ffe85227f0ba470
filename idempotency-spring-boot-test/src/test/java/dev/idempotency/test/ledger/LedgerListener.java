/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.ledger;

import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.stereotype.Component;

import dev.idempotency.Idempotent;

/**
 * Charges each payment once.
 */
@Component
class LedgerListener {

	private final JdbcTemplate jdbc;

	LedgerListener(JdbcTemplate jdbc) {
		this.jdbc = jdbc;
	}

	@KafkaListener(topics = "payments", groupId = "ledger")
	@Idempotent(key = "#payload.paymentId")
	void charge(PaymentCommand command) {
		this.jdbc.update("UPDATE account SET balance = balance - ? WHERE id = ?", command.amount(), command.account());
	}

}
