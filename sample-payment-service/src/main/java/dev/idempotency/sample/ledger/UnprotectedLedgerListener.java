/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.ledger;

import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Transactional;

import dev.idempotency.sample.payment.PaymentCommand;
import dev.idempotency.sample.payment.PaymentTopic;

/**
 * The unprotected counterpart of {@link LedgerListener}, with a transaction but without
 * idempotency and events.
 */
@Component
class UnprotectedLedgerListener {

	private final Ledger ledger;

	UnprotectedLedgerListener(Ledger ledger) {
		this.ledger = ledger;
	}

	@KafkaListener(topics = PaymentTopic.NAME, groupId = "ledger-unprotected")
	@Transactional
	Receipt charge(PaymentCommand command) {
		return this.ledger.charge("ledger-unprotected", command);
	}

}
