/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import dev.idempotency.IdempotentExecution;
import dev.idempotency.test.kill.Effect;

/**
 * The effect of a payment.
 *
 * @param payment the payment
 * @param amount the amount
 * @param process the process that charged it
 * @param fence the fence number of the execution
 * @param attempt the attempt of the execution
 */
record Charge(String payment, long amount, long process, int fence, int attempt) {

	// The value of a payment is its number and its amount.
	static Charge of(String payment, IdempotentExecution execution) {
		return parse(
				payment + " " + ProcessHandle.current().pid() + " " + execution.fence() + " " + execution.attempt());
	}

	static Charge parse(String text) {
		String[] parts = text.split(" ");
		return new Charge(parts[0], Long.parseLong(parts[1]), Long.parseLong(parts[2]), Integer.parseInt(parts[3]),
				Integer.parseInt(parts[4]));
	}

	Effect effect() {
		return new Effect(this.payment, this.process);
	}

	@Override
	public String toString() {
		return this.payment + " " + this.amount + " " + this.process + " " + this.fence + " " + this.attempt;
	}

}
