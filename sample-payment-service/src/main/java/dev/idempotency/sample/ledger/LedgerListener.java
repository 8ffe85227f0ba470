/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.ledger;

import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.stereotype.Component;

import dev.idempotency.Idempotent;
import dev.idempotency.sample.payment.PaymentCommand;
import dev.idempotency.sample.payment.PaymentTopic;

/**
 * Charges each payment once, even if its message is delivered several times. The key, the
 * charge and the event commit together, so a crash at any moment leaves all of them or
 * none. The default store is therefore in the database of the ledger in each profile.
 */
@Component
class LedgerListener {

	private final PublishingLedger ledger;

	LedgerListener(PublishingLedger ledger) {
		this.ledger = ledger;
	}

	@KafkaListener(topics = PaymentTopic.NAME, groupId = "ledger")
	@Idempotent
	Receipt charge(PaymentCommand command) {
		return this.ledger.charge(command);
	}

}
