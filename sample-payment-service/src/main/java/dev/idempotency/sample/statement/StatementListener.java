/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.statement;

import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.stereotype.Component;

import dev.idempotency.Idempotent;
import dev.idempotency.sample.ledger.PaymentCharged;
import dev.idempotency.sample.ledger.PaymentChargedTopic;

/**
 * Adds each charge to the statement of its account once, even if its event is published
 * several times.
 */
@Component
class StatementListener {

	private final Statements statements;

	StatementListener(Statements statements) {
		this.statements = statements;
	}

	@KafkaListener(topics = PaymentChargedTopic.NAME, groupId = "statement",
			properties = "spring.json.value.default.type=dev.idempotency.sample.ledger.PaymentCharged")
	@Idempotent
	void apply(PaymentCharged event) {
		this.statements.apply(event);
	}

}
