/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.payment;

import dev.idempotency.sample.payment.Payment.Repeat;

/**
 * One step of sending a payment.
 *
 * @param command the message
 * @param messages the number of copies that are sent together
 * @param last whether no further copies of the payment follow
 */
record Dispatch(PaymentCommand command, int messages, boolean last) {

	static Dispatch first(Payment payment) {
		int messages = (payment.repeat() == Repeat.AT_ONCE) ? 2 : 1;
		return new Dispatch(payment.command(), messages, payment.repeat() != Repeat.LATER);
	}

	static Dispatch late(Payment payment) {
		return new Dispatch(payment.command(), 1, true);
	}

}
