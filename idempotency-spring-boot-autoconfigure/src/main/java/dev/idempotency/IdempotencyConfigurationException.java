/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

import org.springframework.lang.Contract;

/**
 * Thrown at start-up when the configuration of the application cannot be protected. A
 * failure analyzer shows description and action.
 *
 * @since 0.1.0
 */
public final class IdempotencyConfigurationException extends RuntimeException {

	private final String action;

	/**
	 * Create the exception.
	 * @param description the problem, as a sentence
	 * @param action the remedy, as a sentence in the imperative
	 */
	public IdempotencyConfigurationException(String description, String action) {
		super(description);
		this.action = action;
	}

	/**
	 * Throw the exception if a condition of the configuration is not met.
	 * @param condition the condition
	 * @param description the problem, as a sentence
	 * @param action the remedy, as a sentence in the imperative
	 */
	@Internal
	@Contract("false, _, _ -> fail")
	public static void check(boolean condition, String description, String action) {
		if (!condition) {
			throw new IdempotencyConfigurationException(description, action);
		}
	}

	/**
	 * Return the remedy.
	 * @return the action, as a sentence in the imperative
	 */
	public String action() {
		return this.action;
	}

}
