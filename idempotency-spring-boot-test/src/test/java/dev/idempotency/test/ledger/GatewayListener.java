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
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;

/**
 * Charges the card of each payment.
 */
@Component
class GatewayListener {

	private final CardGateway gateway;

	GatewayListener(CardGateway gateway) {
		this.gateway = gateway;
	}

	@KafkaListener(topics = "card-payments", groupId = "gateway")
	@Idempotent(key = "#payload.paymentId", mode = Mode.LEASED, lease = "30s", fingerprint = "#payload")
	void charge(PaymentCommand command) {
		this.gateway.charge(command, IdempotentExecution.current().key());
	}

}
