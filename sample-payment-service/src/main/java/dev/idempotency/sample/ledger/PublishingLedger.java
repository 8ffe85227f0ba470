/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.ledger;

import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Transactional;

import dev.idempotency.outbox.Outbox;
import dev.idempotency.outbox.OutboxMessage;
import dev.idempotency.sample.payment.PaymentCommand;

/**
 * Charges a payment and sends its event in the same transaction, so that there is an
 * event if and only if there is a charge.
 */
@Component
class PublishingLedger {

	private final Ledger ledger;

	private final Outbox outbox;

	PublishingLedger(Ledger ledger, Outbox outbox) {
		this.ledger = ledger;
		this.outbox = outbox;
	}

	@Transactional
	Receipt charge(PaymentCommand command) {
		Receipt receipt = this.ledger.charge("ledger", command);
		// Sent after the debit, whose row lock on the account keeps the events of the
		// account in order.
		this.outbox.send(OutboxMessage.to(PaymentChargedTopic.NAME)
			.key(command.account())
			.payload(new PaymentCharged(command.paymentId(), command.account(), command.amount(), receipt.balance(),
					receipt.entry()))
			.aggregate("payment", command.paymentId().toString())
			.type("payment-charged")
			.build());
		return receipt;
	}

}
