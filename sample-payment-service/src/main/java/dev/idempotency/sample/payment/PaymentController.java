/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.payment;

import java.util.List;

import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;

/**
 * Accepts orders for payments. It responds when the broker has acknowledged all messages.
 */
@RestController
class PaymentController {

	private final PaymentRepository payments;

	private final PaymentSender sender;

	PaymentController(PaymentRepository payments, PaymentSender sender) {
		this.payments = payments;
		this.sender = sender;
	}

	@PostMapping("/api/payments")
	Accepted order(@RequestBody PaymentOrder order) {
		List<Payment> ordered = order.payments();
		this.payments.insert(ordered);
		this.sender.send(ordered);
		return new Accepted(ordered.size());
	}

	record Accepted(int payments) {

	}

}
