/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.ledger;

import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.stereotype.Component;

import dev.idempotency.Idempotent;

/**
 * Charges each payment once.
 */
@Component
class LedgerListener {

	private final Ledger ledger;

	LedgerListener(Ledger ledger) {
		this.ledger = ledger;
	}

	@KafkaListener(topics = "payments", groupId = "ledger")
	@Idempotent
	void charge(Payment payment) {
		this.ledger.charge(payment);
	}

}
