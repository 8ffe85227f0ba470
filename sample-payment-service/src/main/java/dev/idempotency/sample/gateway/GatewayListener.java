/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.gateway;

import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.stereotype.Component;

import dev.idempotency.Idempotent;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.sample.payment.PaymentCommand;
import dev.idempotency.sample.payment.PaymentTopic;

/**
 * Calls the card gateway once per payment. In leased mode a crash after the call leads to
 * a second call, so the listener passes the key on and the gateway recognizes the
 * duplicate. The call commits with no database, so the keys can be in any store: the
 * profile {@code redis} moves them to Redis.
 */
@Component
class GatewayListener {

	private final CardGatewayClient gateway;

	GatewayListener(CardGatewayClient gateway) {
		this.gateway = gateway;
	}

	@KafkaListener(topics = PaymentTopic.NAME, groupId = "gateway")
	@Idempotent(store = "${sample.gateway.store:}", mode = Mode.LEASED, lease = "${sample.gateway.lease:30s}",
			fingerprint = "#payload")
	void charge(PaymentCommand command) {
		ChargeRequest request = new ChargeRequest(command.account(), command.amount());
		this.gateway.charge(IdempotentExecution.current().key(), request);
	}

}
