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

import dev.idempotency.sample.payment.PaymentCommand;
import dev.idempotency.sample.payment.PaymentTopic;
import dev.idempotency.test.AutoConfigureIdempotencyTools;
import dev.idempotency.test.DuplicateDeliveries;
import dev.idempotency.test.RecordedDeliveries;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The tests that every idempotent listener should have, with the whole application. The
 * page {@code docs/testing.md} explains them.
 */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, useMainMethod = UseMainMethod.ALWAYS)
@AutoConfigureIdempotencyTools
class DuplicateTests {

	@Autowired
	private DuplicateDeliveries duplicates;

	@Autowired
	private RecordedDeliveries deliveries;

	@Autowired
	private JdbcClient jdbc;

	private final PaymentCommand payment = new PaymentCommand(UUID.randomUUID(), "ACC-01", BigDecimal.TEN);

	private final String key = this.payment.paymentId().toString();

	@Test
	void paymentIsChargedOnceWhenItIsSentAgain() {
		this.duplicates.of(PaymentTopic.NAME, this.key, this.payment).sendTwice();
		assertThat(charges()).isOne();
	}

	@Test
	void paymentIsChargedOnceWhenCopiesArriveAtTheSameTime() {
		this.duplicates.of(PaymentTopic.NAME, this.key, this.payment).atOnce(12);
		assertThat(charges()).isOne();
		assertThat(this.deliveries.of(LedgerListener.class)).processedOnce(this.key).duplicates(this.key, 11);
	}

	@Test
	void paymentIsChargedOnceWhenItsOffsetIsLost() {
		this.duplicates.of(PaymentTopic.NAME, this.key, this.payment).redelivered();
		assertThat(charges()).isOne();
	}

	private long charges() {
		return this.jdbc.sql("select count(*) from ledger_entry where ledger = 'ledger' and payment_id = :id")
			.param("id", this.payment.paymentId())
			.query(Long.class)
			.single();
	}

}
