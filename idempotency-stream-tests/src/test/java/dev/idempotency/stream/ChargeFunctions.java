/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.stream;

import java.math.BigDecimal;
import java.util.function.Function;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.Idempotent;

/**
 * The example of {@code docs/spring-cloud-stream.md}.
 */
@Configuration(proxyBeanMethods = false)
class ChargeFunctions {

	@Bean
	@Idempotent(key = "#payload.paymentId")
	Function<Payment, Receipt> charge(JdbcTemplate jdbc) {
		return (payment) -> {
			jdbc.update("INSERT INTO charge (payment_id, amount) VALUES (?, ?)", payment.paymentId(), payment.amount());
			return new Receipt(payment.paymentId(), payment.amount());
		};
	}

	record Payment(String paymentId, BigDecimal amount) {
	}

	record Receipt(String paymentId, BigDecimal amount) {
	}

}
