/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.ledger;

import java.util.UUID;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.JdbcTemplate;
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
@Import(EmbeddedDatabase.class)
class LedgerListenerTests {

	@Autowired
	DuplicateDeliveries duplicates;

	@Autowired
	RecordedDeliveries deliveries;

	@Autowired
	StoreFaults faults;

	@Autowired
	JdbcTemplate jdbc;

	@MockitoBean
	CardGateway gateway;

	private final String id = UUID.randomUUID().toString();

	private final PaymentCommand payment = new PaymentCommand(this.id, "account of " + this.id, 7);

	@BeforeEach
	void openAccount() {
		this.jdbc.update("INSERT INTO account (id, balance) VALUES (?, 100)", this.payment.account());
	}

	@Test
	void paymentIsChargedOnceWhenItIsSentAgain() {
		this.duplicates.of("payments", this.id, this.payment).sendTwice();
		assertThat(balance()).isEqualTo(93);
	}

	@Test
	void paymentIsChargedOnceWhenCopiesArriveAtTheSameTime() {
		this.duplicates.of("payments", this.id, this.payment).atOnce(12);
		assertThat(balance()).isEqualTo(93);
	}

	@Test
	void paymentIsChargedOnceWhenItsOffsetIsLost() {
		this.duplicates.of("payments", this.id, this.payment).redelivered();
		assertThat(balance()).isEqualTo(93);
		assertThat(this.deliveries.of(LedgerListener.class)).processedOnce(this.id)
			.duplicates(this.id, 1)
			.isCompleted(this.id);
	}

	@Test
	void paymentWaitsWhileTheStoreIsUnavailable() {
		try (StoreFaults.Fault outage = this.faults.unavailable()) {
			this.duplicates.of("payments", this.id, this.payment).send();
			outage.awaitHit();
			assertThat(balance()).isEqualTo(100);
		}
		this.duplicates.awaitEnded();
		assertThat(balance()).isEqualTo(93);
	}

	// The library would warn of a property that it does not have.
	@Test
	void brokerOfTheTestSetsNoPropertyOfTheLibrary() {
		assertThat(System.getProperties().stringPropertyNames()).contains("spring.embedded.kafka.idempotency-test")
			.noneMatch((name) -> name.startsWith("idempotency."));
	}

	private Integer balance() {
		return this.jdbc.queryForObject("SELECT balance FROM account WHERE id = ?", Integer.class,
				this.payment.account());
	}

}
