/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.payment;

import java.math.BigDecimal;
import java.util.UUID;
import java.util.random.RandomGenerator;

/**
 * A requested payment.
 *
 * @param command the message of the payment
 * @param repeat whether and when the message is sent a second time
 */
record Payment(PaymentCommand command, Repeat repeat) {

	private static final int ACCOUNTS = 20;

	private static final int MAX_CENTS = 25_000;

	static Payment random(RandomGenerator random, Repeat repeat) {
		String account = "ACC-%02d".formatted(random.nextInt(ACCOUNTS) + 1);
		BigDecimal amount = BigDecimal.valueOf(random.nextInt(MAX_CENTS) + 1L, 2);
		return new Payment(new PaymentCommand(UUID.randomUUID(), account, amount), repeat);
	}

	/**
	 * The ways in which a message can be sent a second time.
	 */
	enum Repeat {

		/**
		 * The message is sent once.
		 */
		NEVER,

		/**
		 * A copy is sent together with the message, to another partition.
		 */
		AT_ONCE,

		/**
		 * A copy is sent after all other messages.
		 */
		LATER

	}

}
