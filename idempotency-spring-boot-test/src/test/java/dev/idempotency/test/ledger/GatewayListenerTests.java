/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.ledger;

import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.annotation.Import;
import org.springframework.test.context.bean.override.mockito.MockitoBean;

import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.test.DuplicateDeliveries;
import dev.idempotency.test.IdempotencyTest;
import dev.idempotency.test.ListenerDeliveries;
import dev.idempotency.test.RecordedDeliveries;
import dev.idempotency.test.StoreFaults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.willAnswer;
import static org.mockito.BDDMockito.willDoNothing;
import static org.mockito.BDDMockito.willThrow;
import static org.mockito.Mockito.times;
import static org.mockito.Mockito.verify;

/**
 * Tests of a listener in leased mode. The page {@code docs/testing.md} shows them.
 */
@IdempotencyTest
@Import(EmbeddedDatabase.class)
class GatewayListenerTests {

	@Autowired
	DuplicateDeliveries duplicates;

	@Autowired
	StoreFaults faults;

	@MockitoBean
	CardGateway gateway;

	private final PaymentCommand payment = new PaymentCommand(UUID.randomUUID().toString(), "alice", 7);

	private final String key = this.payment.paymentId();

	private ListenerDeliveries listener;

	@Autowired
	void listener(RecordedDeliveries deliveries) {
		this.listener = deliveries.of(GatewayListener.class);
	}

	@Test
	void gatewayIsCalledAgainAfterAFailure() {
		willThrow(new IllegalStateException("card reader")).willDoNothing()
			.given(this.gateway)
			.charge(this.payment, this.key);
		this.duplicates.of("card-payments", this.key, this.payment).sendTwice();
		assertThat(this.listener).failed(this.key, 1).processedOnce(this.key).duplicates(this.key, 1);
	}

	@Test
	void gatewayIsCalledOnceWhenTheAnswerToTheCompletionIsLost() {
		try (StoreFaults.Fault lost = this.faults.loseAnswers(StoreCall.COMPLETE)) {
			this.duplicates.of("card-payments", this.key, this.payment).send();
			lost.awaitHit();
		}
		this.duplicates.of("card-payments", this.key, this.payment).sendTwice();
		verify(this.gateway, times(1)).charge(this.payment, this.key);
	}

	@Test
	void gatewayGetsTheSameKeyWhenAClaimHasExpired() {
		CountDownLatch successor = new CountDownLatch(1);
		willAnswer((call) -> successor.await(20, TimeUnit.SECONDS)).willAnswer((call) -> {
			successor.countDown();
			return null;
		}).given(this.gateway).charge(this.payment, this.key);
		try (StoreFaults.Fault expired = this.faults.expireLeases()) {
			this.duplicates.of("card-payments", this.key, this.payment).atOnce(2);
			assertThat(expired.hits()).isGreaterThan(1);
		}
		verify(this.gateway, times(2)).charge(this.payment, this.key);
		assertThat(this.listener).hasOutcome(this.key, Outcome.LOST, 1).hasOutcome(this.key, Outcome.PROCESSED, 1);
	}

	@Test
	void gatewayIsCalledAgainWhenTheStoreHasForgottenTheKey() {
		willDoNothing().given(this.gateway).charge(this.payment, this.key);
		this.duplicates.of("card-payments", this.key, this.payment).sendTwice();
		this.faults.forget(this.key);
		assertThat(this.listener).isUnknown(this.key);
		this.duplicates.of("card-payments", this.key, this.payment).sendTwice();
		verify(this.gateway, times(2)).charge(this.payment, this.key);
	}

}
