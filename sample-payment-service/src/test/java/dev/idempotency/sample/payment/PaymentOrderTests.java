/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.payment;

import java.util.Map;
import java.util.stream.Collectors;

import org.junit.jupiter.api.Test;

import dev.idempotency.sample.payment.Payment.Repeat;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link PaymentOrder}.
 */
class PaymentOrderTests {

	@Test
	void duplicatesMatchTheRateAndAreSentAtOnceOrLaterInEqualParts() {
		assertThat(repeats(1_000, 0.3)).isEqualTo(Map.of(Repeat.NEVER, 700L, Repeat.AT_ONCE, 150L, Repeat.LATER, 150L));
	}

	@Test
	void rateOfZeroRepeatsNoPayment() {
		assertThat(repeats(10, 0)).isEqualTo(Map.of(Repeat.NEVER, 10L));
	}

	@Test
	void rateOfOneRepeatsEveryPayment() {
		assertThat(repeats(10, 1)).isEqualTo(Map.of(Repeat.AT_ONCE, 5L, Repeat.LATER, 5L));
	}

	private Map<Repeat, Long> repeats(int count, double duplicateRate) {
		return new PaymentOrder(count, duplicateRate).payments()
			.stream()
			.collect(Collectors.groupingBy(Payment::repeat, Collectors.counting()));
	}

}
