/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.ledger;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.stereotype.Component;

/**
 * A listener without protection. It shows that a duplicate was delivered.
 */
@Component
class NaiveListener {

	private final Map<String, AtomicInteger> deliveries = new ConcurrentHashMap<>();

	@KafkaListener(id = "naive", topics = "payments", groupId = "naive")
	void charge(PaymentCommand payment) {
		this.deliveries.computeIfAbsent(payment.paymentId(), (id) -> new AtomicInteger()).incrementAndGet();
	}

	int deliveries(PaymentCommand payment) {
		return this.deliveries.getOrDefault(payment.paymentId(), new AtomicInteger()).get();
	}

}
