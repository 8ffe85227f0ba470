/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.payment;

import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;

import org.springframework.util.Assert;

import dev.idempotency.sample.payment.Payment.Repeat;

/**
 * An order for random payments.
 *
 * @param count the number of payments
 * @param duplicateRate the fraction of payments whose message is sent a second time
 */
record PaymentOrder(int count, double duplicateRate) {

	private static final int MAX_COUNT = 100_000;

	PaymentOrder {
		Assert.isTrue(count >= 1 && count <= MAX_COUNT, () -> "'count' must be between 1 and 100000, but is " + count);
		Assert.isTrue(duplicateRate >= 0 && duplicateRate <= 1,
				() -> "'duplicateRate' must be between 0 and 1, but is " + duplicateRate);
	}

	List<Payment> payments() {
		return IntStream.range(0, this.count)
			.mapToObj((index) -> Payment.random(ThreadLocalRandom.current(), repeat(index)))
			.toList();
	}

	private Repeat repeat(int index) {
		long copiesBefore = copiesUpTo(index);
		if (copiesUpTo(index + 1) == copiesBefore) {
			return Repeat.NEVER;
		}
		return (copiesBefore % 2 == 0) ? Repeat.AT_ONCE : Repeat.LATER;
	}

	private long copiesUpTo(int index) {
		return Math.round(index * this.duplicateRate);
	}

}
