/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.UseMainMethod;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.jdbc.core.simple.JdbcClient;
import tools.jackson.databind.JsonNode;

import dev.idempotency.test.AutoConfigureIdempotencyTools;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the event of a charge and the statement of its account.
 */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, useMainMethod = UseMainMethod.ALWAYS)
@AutoConfigureIdempotencyTools
class StatementTests {

	@LocalServerPort
	private int port;

	@Autowired
	private JdbcClient jdbc;

	private PaymentService service;

	@BeforeEach
	void readFigures() {
		this.service = new PaymentService(this.port);
	}

	@Test
	void paymentsThatAreSentTwiceAreOnTheStatementsOnce() {
		// The handler of one payment runs twice, and its first charge is rolled back.
		this.service.crash();
		this.service.order(200, 0.5);
		JsonNode after = this.service.awaitConsumption();
		assertThat(this.service.increase(after, "/statements/deliveries")).isGreaterThanOrEqualTo(200);
		assertThat(this.service.increase(after, "/statements/applied")).isEqualTo(200);
		assertThat(this.service.increaseOfAmount(after, "/statements/amount"))
			.isEqualByComparingTo(this.service.increaseOfAmount(after, "/amountRequested"));
		assertStatementsMatchTheLedger(after);
	}

	@Test
	void eventsThatArePublishedAgainAreAppliedOnce() {
		this.service.order(50, 0);
		this.service.awaitConsumption();
		// Simulates a relay that has crashed before it marked published messages.
		int events = this.jdbc.sql(
				"update idempotency_outbox set published_at = null, next_attempt_at = now() where published_at is not null")
			.update();
		assertThat(events).isGreaterThanOrEqualTo(50);
		JsonNode after = this.service.awaitConsumption();
		assertThat(this.service.increase(after, "/statements/deliveries")).isGreaterThanOrEqualTo(50 + events);
		assertThat(this.service.increase(after, "/statements/suppressed")).isGreaterThanOrEqualTo(events);
		assertThat(this.service.increase(after, "/statements/applied")).isEqualTo(50);
		assertStatementsMatchTheLedger(after);
	}

	private void assertStatementsMatchTheLedger(JsonNode summary) {
		assertThat(summary.at("/statements/outOfOrder").longValue()).isZero();
		assertThat(summary.at("/outbox/deadLetters").longValue()).isZero();
		JsonNode differences = this.service.reconciliation();
		assertThat(differences).hasSize(3).allSatisfy((difference) -> assertThat(difference.decimalValue()).isZero());
		assertThat(this.jdbc
			.sql("""
					select count(*) from account join account_statement statement on statement.account = number
					where ledger = 'ledger' and (account.balance <> statement.balance or account.balance <> -statement.amount)
					""")
			.query(Long.class)
			.single()).as("accounts whose last event does not contain their balance").isZero();
	}

}
