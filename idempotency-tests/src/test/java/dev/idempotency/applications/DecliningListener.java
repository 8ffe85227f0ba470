/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.applications;

import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.applications.CatchingApplication.CardRefusedException;
import dev.idempotency.applications.CatchingApplication.Cards;
import dev.idempotency.applications.TutorialApplication.OrderPlaced;

/**
 * The listener for cards, with a refusal as the outcome of the operation. Only the
 * library knows its exception.
 */
class DecliningListener {

	private final Cards cards;

	DecliningListener(Cards cards) {
		this.cards = cards;
	}

	// docs/migrating.md
	@KafkaListener(topics = "${prefix}-declining", groupId = "${prefix}-declining")
	@Idempotent(key = "#payload.orderId")
	void handle(OrderPlaced order) {
		try {
			this.cards.charge(order);
		}
		catch (CardRefusedException ex) {
			throw new OperationDeclinedException("The card was refused");
		}
	}

}
