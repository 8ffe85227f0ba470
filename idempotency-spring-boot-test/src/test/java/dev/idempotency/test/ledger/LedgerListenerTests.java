/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.ledger;

import java.math.BigDecimal;
import java.util.UUID;

import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.annotation.Import;
import org.springframework.test.context.bean.override.mockito.MockitoBean;

import dev.idempotency.test.DuplicateDeliveries;
import dev.idempotency.test.IdempotencyTest;
import dev.idempotency.test.RecordedDeliveries;
import dev.idempotency.test.StoreFaults;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests of a listener in transactional mode. The page {@code docs/testing.md} shows them.
 */
@IdempotencyTest
@Import({ Ledger.class, EmbeddedDatabase.class })
class LedgerListenerTests {

	@Autowired
	DuplicateDeliveries duplicates;

	@Autowired
	RecordedDeliveries deliveries;

	@Autowired
	StoreFaults faults;

	@Autowired
	Ledger ledger;

	@MockitoBean
	CardGateway gateway;

	private final Payment payment = new Payment(UUID.randomUUID().toString(), "ACC-01", BigDecimal.TEN);

	@Test
	void paymentIsChargedOnceWhenItIsSentAgain() {
		this.duplicates.of("payments", this.payment.id(), this.payment).sendTwice();
		assertThat(this.ledger.charges(this.payment)).isOne();
	}

	@Test
	void paymentIsChargedOnceWhenCopiesArriveAtTheSameTime() {
		this.duplicates.of("payments", this.payment.id(), this.payment).atOnce(12);
		assertThat(this.ledger.charges(this.payment)).isOne();
	}

	@Test
	void paymentIsChargedOnceWhenItsOffsetIsLost() {
		this.duplicates.of("payments", this.payment.id(), this.payment).redelivered();
		assertThat(this.ledger.charges(this.payment)).isOne();
		assertThat(this.deliveries.of(LedgerListener.class)).processedOnce(this.payment.id())
			.duplicates(this.payment.id(), 1)
			.isCompleted(this.payment.id());
	}

	@Test
	void paymentWaitsWhileTheStoreIsUnavailable() {
		try (StoreFaults.Fault outage = this.faults.unavailable()) {
			this.duplicates.of("payments", this.payment.id(), this.payment).send();
			outage.awaitHit();
			assertThat(this.ledger.charges(this.payment)).isZero();
		}
		this.duplicates.awaitEnded();
		assertThat(this.ledger.charges(this.payment)).isOne();
	}

}
