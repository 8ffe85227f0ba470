/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.util.UUID;

/**
 * The owner tokens of one schedule, instead of random ones.
 */
public final class Tokens {

	private static final long SPREAD = 0x9E3779B97F4A7C15L;

	private static long number;

	private Tokens() {
	}

	static void restart() {
		number = 0;
	}

	/**
	 * Return the next token. Only one thread runs at a time.
	 * @return the token
	 */
	public static UUID next() {
		number++;
		return new UUID(number * SPREAD, number);
	}

}
