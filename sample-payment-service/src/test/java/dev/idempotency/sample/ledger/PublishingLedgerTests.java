/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.ledger;

import java.math.BigDecimal;
import java.util.UUID;

import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.UseMainMethod;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.sample.payment.PaymentCommand;
import dev.idempotency.test.AutoConfigureIdempotencyTools;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link PublishingLedger}.
 */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, useMainMethod = UseMainMethod.ALWAYS)
@AutoConfigureIdempotencyTools
class PublishingLedgerTests {

	@Autowired
	private PublishingLedger ledger;

	@Autowired
	private TransactionTemplate transaction;

	@Autowired
	private JdbcClient jdbc;

	@Test
	void rolledBackChargeHasNoEvent() {
		PaymentCommand payment = new PaymentCommand(UUID.randomUUID(), "ACC-01", BigDecimal.TEN);
		this.transaction.executeWithoutResult((status) -> {
			this.ledger.charge(payment);
			assertThat(charges(payment)).isOne();
			assertThat(events(payment)).isOne();
			status.setRollbackOnly();
		});
		assertThat(charges(payment)).isZero();
		assertThat(events(payment)).isZero();
	}

	private long charges(PaymentCommand payment) {
		return count("select count(*) from ledger_entry where payment_id::text = :id", payment);
	}

	private long events(PaymentCommand payment) {
		return count("select count(*) from idempotency_outbox where aggregatetype = 'payment' and aggregateid = :id "
				+ "and type = 'payment-charged'", payment);
	}

	private long count(String sql, PaymentCommand payment) {
		return this.jdbc.sql(sql).param("id", payment.paymentId().toString()).query(Long.class).single();
	}

}
