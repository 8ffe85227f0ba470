/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.payment;

import java.util.List;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.ApplicationRunner;
import org.springframework.stereotype.Component;

/**
 * Sends payments at start-up that an earlier run has stored but not marked as sent.
 * Messages that the broker has already received are thereby sent a second time.
 */
@Component
final class UnsentPayments implements ApplicationRunner {

	private static final Logger logger = LoggerFactory.getLogger(UnsentPayments.class);

	private final PaymentRepository payments;

	private final PaymentSender sender;

	UnsentPayments(PaymentRepository payments, PaymentSender sender) {
		this.payments = payments;
		this.sender = sender;
	}

	@Override
	public void run(ApplicationArguments args) {
		List<Payment> unsent = this.payments.unsent();
		if (!unsent.isEmpty()) {
			logger.info("Sending {} payments that an earlier run did not send", unsent.size());
			this.sender.send(unsent);
		}
	}

}
