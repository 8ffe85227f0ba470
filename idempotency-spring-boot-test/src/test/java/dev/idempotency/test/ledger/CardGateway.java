/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.ledger;

/**
 * A service of another company that charges cards.
 */
interface CardGateway {

	/**
	 * Charge a card.
	 * @param command the payment
	 * @param key the idempotency key
	 */
	void charge(PaymentCommand command, String key);

}
